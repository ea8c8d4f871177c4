package broker

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/session"
)

// Receive checks a client's answer against the request, stores what is needed of it, and returns what the log has in
// its place. It calls no provider. An invalid answer is an *AnswerError.
//
// A refusal by the user is a valid answer; Complete reports it. If the user has returned through Callback, or the login
// was completed in the meantime, the answer may be empty.
func (b *Broker) Receive(ctx context.Context, key session.Key, requestID string, asked *credential.Config, answer json.RawMessage) (redacted json.RawMessage, err error) {
	l, err := loginOf(key, asked)
	if err != nil {
		return nil, err
	}
	given, err := credential.DecodeAnswer(answer)
	if err != nil {
		return nil, refuse(Incomplete, "The answer cannot be read: "+err.Error())
	}
	if member := identify(l.config).contradicts(identify(given)); member != "" {
		return nil, refuse(Mismatched, "The "+member+" in the answer is not the one of the request")
	}
	if given.CredentialKey != "" && given.CredentialKey != l.config.Key() {
		return nil, refuse(Mismatched, "The credentialKey in the answer is not the one of the request")
	}
	p, err := b.amend(ctx, l.pendingID(), func(p *pending) (bool, error) {
		if !p.bound(requestID) {
			return false, errNonePending
		}
		got, err := b.read(p, l.config.Scheme, given)
		if err != nil || got == nil {
			return false, err
		}
		p.Received = got
		return true, nil
	})
	if errors.Is(err, errNonePending) {
		if err := b.answered(ctx, l, requestID, given); err != nil {
			return nil, err
		}
		return settled(l.config, false)
	}
	if err != nil {
		return nil, err
	}
	return settled(l.config, p.Received.Denied)
}

// answered handles an answer without a pending login: it is valid if the login is complete and the answer is empty.
func (b *Broker) answered(ctx context.Context, l login, requestID string, given *credential.Config) error {
	g, _, err := load[grant](ctx, b, b.grantID(l))
	switch {
	case err != nil:
		return err
	case g == nil || !g.answers(l.key, requestID):
		return refuse(Conflicting, "No login is pending for this request in this session: it was never made, has expired, "+
			"or a newer one has replaced it")
	case !brings(given.Exchanged) && !brings(given.Raw):
		return nil
	}
	return refuse(Conflicting, "This request has been answered before, and an answer counts once")
}

// read extracts what a pending login waits for from an answer. It returns nil if there is nothing, and nothing is
// needed any more.
func (b *Broker) read(p *pending, scheme *credential.Scheme, given *credential.Config) (*received, error) {
	if b.late(p) {
		return nil, refuse(Conflicting, "The request for this login has expired; send a message, and you are asked again if it is still needed")
	}
	if p.AuthURI == "" {
		return typedIn(scheme, given)
	}
	var o credential.OAuth2
	if given.Exchanged != nil && given.Exchanged.OAuth2 != nil {
		o = *given.Exchanged.OAuth2
	}
	if o.State != "" && !same(o.State, p.State) {
		return nil, errState
	}
	switch {
	case o.AuthResponseURI != "":
		u, err := url.Parse(strings.TrimSpace(o.AuthResponseURI))
		if err != nil {
			return nil, refuse(Incomplete, "authResponseUri should be the full address that the user came back with")
		}
		got, err := p.callback(u)
		if err != nil {
			return nil, err
		}
		u.RawQuery, u.Fragment = "", ""
		got.RedirectURI = firstOf(o.RedirectURI, p.RedirectURI, u.String())
		return got, nil
	case o.AuthCode != "":
		if o.State == "" {
			return nil, errState
		}
		return &received{Code: o.AuthCode, RedirectURI: firstOf(o.RedirectURI, p.RedirectURI)}, nil
	case p.Received != nil:
		return nil, nil //nolint:nilnil // the user has been at Callback
	}
	return nil, errNoCode
}

var (
	errState  = refuse(Mismatched, "The state in the answer is not the one of the request: answer with what came of this request's address")
	errNoCode = refuse(Incomplete, "The answer has no code: set exchangedAuthCredential.oauth2.authResponseUri to the full address "+
		"that the user came back with")
)

// callback parses the URL that a user returned with.
func (p *pending) callback(u *url.URL) (*received, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, refuse(Incomplete, "The address that the user came back with cannot be read")
	}
	for name, values := range query {
		if len(values) > 1 && slices.Contains([]string{"state", "code", "authorization_code", "error", "iss"}, name) {
			return nil, refuse(Mismatched, "The address that the user came back with has "+name+" more than once")
		}
	}
	if !same(query.Get("state"), p.State) {
		return nil, errState
	}
	if !p.from(query.Get("iss")) {
		return nil, refuse(Mismatched, "The user came back from another provider than the one of the request: iss is another one, or missing")
	}
	switch problem := query.Get("error"); {
	case problem == "access_denied":
		return &received{Denied: true}, nil
	case goodCode(problem, []string{p.Client.Secret, p.Verifier}):
		return nil, refuse(Incomplete, "The provider sent the user back with the error "+problem)
	case problem != "":
		return nil, refuse(Incomplete, "The provider sent the user back with an error")
	}
	code := firstOf(query.Get("code"), query.Get("authorization_code"))
	if code == "" {
		return nil, errNoCode
	}
	return &received{Code: code}, nil
}

// from reports whether an answer with an issuer can come from the provider (RFC 9207). If the provider's issuer is
// unknown, it must be on one of its hosts.
func (p *pending) from(issuer string) bool {
	switch {
	case issuer == "":
		return !p.Client.SaysIssuer
	case p.Client.Issuer != "":
		return issuer == p.Client.Issuer
	}
	u, err := url.Parse(issuer)
	return err == nil && u.Host != "" && slices.ContainsFunc([]string{p.AuthURI, p.Client.TokenURL, p.Client.Discovery}, func(known string) bool {
		return strings.EqualFold(host(known), u.Host)
	})
}

// typedIn reads a credential that a user was asked for. It accepts only what the scheme requires.
func typedIn(scheme *credential.Scheme, given *credential.Config) (*received, error) {
	from := given.Exchanged
	if !filled(from) {
		from = given.Raw
	}
	if !filled(from) {
		return nil, refuse(Incomplete, "The answer has no credential: set exchangedAuthCredential to the one that the request asks for")
	}
	cred := &credential.Credential{Type: scheme.Type}
	switch {
	case scheme.Type == credential.TypeAPIKey:
		cred.APIKey = from.APIKey
	case from.HTTP != nil:
		cred.HTTP = &credential.HTTP{Scheme: scheme.HTTPScheme, Username: from.HTTP.Username, Password: from.HTTP.Password, Token: from.HTTP.Token}
	default: // a bare token
		cred.HTTP = &credential.HTTP{Scheme: scheme.HTTPScheme, Token: from.APIKey}
	}
	err := credential.Apply(&http.Request{URL: new(url.URL)}, scheme, cred)
	if errors.Is(err, credential.ErrNotReady) {
		return nil, refuse(Incomplete, "The credential in the answer is not of the kind that the request asks for")
	}
	if err != nil {
		return nil, refuse(Incomplete, "The credential in the answer cannot be used: "+err.Error())
	}
	text, err := cred.AppendJSON(nil, credential.Camel)
	if err != nil {
		return nil, refuse(Incomplete, "The credential in the answer cannot be kept")
	}
	return &received{Credential: text}, nil
}

// brings reports whether a credential contains what completes a login.
func brings(c *credential.Credential) bool {
	return filled(c) || c != nil && c.OAuth2 != nil && (c.OAuth2.AuthResponseURI != "" || c.OAuth2.AuthCode != "")
}

// filled reports whether a credential contains a secret.
func filled(c *credential.Credential) bool {
	return c != nil && (c.APIKey != "" || c.HTTP != nil && (c.HTTP.Token != "" || c.HTTP.Password != "" || c.HTTP.Username != ""))
}

// settled returns what the log has in place of an answer.
func settled(config *credential.Config, denied bool) (json.RawMessage, error) {
	out := config.Redacted()
	out.Exchanged = &credential.Credential{Type: config.Scheme.Type}
	if out.Raw != nil {
		out.Exchanged.Type = out.Raw.Type
		if out.Raw.OAuth2 != nil {
			out.Raw.OAuth2.AuthURI, out.Raw.OAuth2.State, out.Raw.OAuth2.Nonce = "", "", ""
			out.Exchanged.OAuth2 = &credential.OAuth2{ClientID: out.Raw.OAuth2.ClientID}
		}
	}
	if denied {
		if out.Extra == nil {
			out.Extra = map[string]json.RawMessage{}
		}
		out.Extra["error"] = json.RawMessage(`"access_denied"`)
	}
	return out.AppendJSON(nil, credential.Camel)
}

// same compares in constant time.
func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
