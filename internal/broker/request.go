package broker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/openid"
	"github.com/parley-run/parley/session"
)

// Request creates a pending login and returns the request for the user: the login without its secrets, with an
// authorization URL if there is one. Requests for the same login within 15 minutes share it.
func (s *Session) Request(ctx context.Context, config *credential.Config) (*credential.Config, error) {
	b := s.broker
	l, err := loginOf(s.key, config)
	if err != nil {
		return nil, err
	}
	if err := l.config.Validate(); err != nil {
		return nil, err
	}
	s.out.Add(secretsOf(l.config.Raw)...)
	typed, err := askable(l.config)
	if err != nil {
		return nil, err
	}
	if b.vault == nil {
		b.log.ErrorContext(ctx, "a tool needs a login, and there is no key to seal credentials with", "app", s.key.App, "session_id", s.key.ID, "err", ErrNoKey)
		return nil, ErrNoKey
	}
	for {
		p, at, err := load[pending](ctx, b, l.pendingID())
		if err != nil {
			return nil, err
		}
		if p == nil || b.now().Sub(p.Created) >= shared || !typed && p.Client.Secret != l.config.Raw.OAuth2.ClientSecret {
			p = &pending{ID: rand.Text(), Created: b.now()}
			if !typed {
				if p, err = b.begin(ctx, l); err != nil {
					return nil, err
				}
			}
			if err := b.save(ctx, l.pendingID(), at, p); errors.Is(err, session.ErrChanged) {
				continue // another process was faster
			} else if err != nil {
				return nil, err
			}
		}
		return b.asked(l.config, p), nil
	}
}

// askable reports whether the user can be asked for a login, and whether for the credential itself.
func askable(config *credential.Config) (typed bool, err error) {
	switch scheme, raw := config.Scheme, config.Raw; {
	case scheme.Type == credential.TypeAPIKey && raw == nil,
		scheme.Type == credential.TypeHTTP && raw == nil:
		return true, nil
	case raw != nil && raw.Type != credential.TypeOAuth2 && raw.Type != credential.TypeOpenIDConnect:
		return false, errors.New("there is nothing to ask the user for: the tool has a credential of its own; " +
			"if it is refused, correct it, or leave rawAuthCredential out so that every user is asked for theirs")
	case scheme.Type != credential.TypeOAuth2 && scheme.Type != credential.TypeOpenIDConnect:
		return false, errors.New("users cannot be asked to log in with a scheme of this type: use apiKey, http, oauth2 or openIdConnect")
	case raw == nil || raw.OAuth2 == nil || raw.OAuth2.ClientID == "":
		return false, errors.New("users cannot log in without a client: set clientId in rawAuthCredential.oauth2")
	case scheme.Type == credential.TypeOAuth2 && scheme.AuthorizationEndpoint() == "":
		return false, errors.New("users cannot log in with this scheme: it has no authorizationUrl; set flows.authorizationCode")
	case scheme.Type == credential.TypeOAuth2 && scheme.TokenEndpoint() == "":
		return false, errors.New("users cannot log in with this scheme: it has no tokenUrl; set flows.authorizationCode")
	}
	return false, nil
}

// asked returns what the user sees of a pending login.
func (b *Broker) asked(config *credential.Config, p *pending) *credential.Config {
	out := config.Clone()
	out.Exchanged = nil
	if p.AuthURI != "" {
		out.Exchanged = &credential.Credential{Type: config.Raw.Type, OAuth2: &credential.OAuth2{
			ClientID: p.Client.ID, AuthURI: b.startURL(p), State: p.State, CodeChallengeMethod: "S256", RedirectURI: p.RedirectURI,
		}}
	}
	return out.Redacted()
}

// begin creates a pending login with an authorization URL.
func (b *Broker) begin(ctx context.Context, l login) (*pending, error) {
	c, authURL, err := b.clientOf(ctx, l.config)
	if err != nil {
		return nil, err
	}
	raw := l.config.Raw.OAuth2
	p := &pending{
		ID: rand.Text(), Client: c, Verifier: oauth2.GenerateVerifier(), Created: b.now(), RedirectURI: raw.RedirectURI,
	}
	p.Managed = b.public != "" && p.RedirectURI == ""
	if p.State, err = b.newState(l, p.Managed); err != nil {
		return nil, err
	}
	prompt := raw.Prompt
	if prompt == "" {
		prompt = "consent"
	}
	options := []oauth2.AuthCodeOption{
		oauth2.AccessTypeOffline, oauth2.SetAuthURLParam("prompt", prompt), oauth2.S256ChallengeOption(p.Verifier),
	}
	if raw.Audience != "" {
		options = append(options, oauth2.SetAuthURLParam("audience", raw.Audience))
	}
	if l.config.Scheme.Type == credential.TypeOpenIDConnect || slices.Contains(c.Scopes, openid.ScopeOpenID) {
		if _, err := openid.Find(); err != nil { // the token could not be verified
			return nil, err
		}
		p.Nonce = rand.Text()
		options = append(options, oauth2.SetAuthURLParam("nonce", p.Nonce))
	}
	if raw.AuthURI != "" {
		authURL = raw.AuthURI
	}
	if err := errors.Join(b.guard.visitable(ctx, authURL), b.guard.callable(ctx, c.TokenURL)); err != nil {
		return nil, failure(host(c.TokenURL), err)
	}
	p.AuthURI, err = address(authURL, c.config(p.RedirectURI), p.State, options)
	return p, err
}

// address returns the authorization URL. It keeps the query of the endpoint, except for parameters of the protocol.
func address(endpoint string, config *oauth2.Config, state string, options []oauth2.AuthCodeOption) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("the URL of the authorization endpoint is invalid")
	}
	query := u.Query()
	config.Endpoint.AuthURL = ""
	ours, err := url.Parse(config.AuthCodeURL(state, options...))
	if err != nil {
		return "", errors.New("the URL for the login cannot be created")
	}
	maps.Copy(query, ours.Query())
	for _, name := range []string{"redirect_uri", "nonce"} { // an empty parameter would be an error
		if query.Get(name) == "" {
			query.Del(name)
		}
	}
	u.RawQuery, u.Fragment = query.Encode(), ""
	return u.String(), nil
}

// clientOf determines the endpoints and the client of a login.
func (b *Broker) clientOf(ctx context.Context, config *credential.Config) (c client, authURL string, err error) {
	scheme, raw := config.Scheme, config.Raw.OAuth2
	c = client{
		ID: raw.ClientID, Secret: raw.ClientSecret, Method: raw.TokenEndpointAuthMethod,
		TokenURL: scheme.TokenEndpoint(), RefreshURL: scheme.RefreshEndpoint(), RevokeURL: scheme.OpenID.RevocationEndpoint,
		Discovery: scheme.OpenIDConnectURL, Scopes: scheme.Scopes(),
	}
	authURL = scheme.AuthorizationEndpoint()
	methods := scheme.OpenID.TokenEndpointAuthMethods
	if c.Discovery != "" && (authURL == "" || c.TokenURL == "") {
		d, err := b.discover(ctx, c.Discovery)
		if err != nil {
			return c, "", err
		}
		fill(&authURL, d.AuthURL)
		fill(&c.TokenURL, d.TokenURL)
		fill(&c.RevokeURL, d.Revoke)
		c.Issuer, c.SaysIssuer = d.Issuer, d.SaysIssuer
		if methods == nil {
			methods = d.Methods
		}
	}
	fill(&c.RefreshURL, c.TokenURL)
	if scheme.Type == credential.TypeOpenIDConnect && len(c.Scopes) == 0 {
		c.Scopes = []string{openid.ScopeOpenID}
	}
	switch c.Method {
	case "client_secret_basic", "client_secret_post", "none":
	case "":
		c.Method = "client_secret_basic"
		if !slices.Contains(methods, c.Method) && slices.Contains(methods, "client_secret_post") {
			c.Method = "client_secret_post"
		}
	default:
		return c, "", errors.New("tokenEndpointAuthMethod should be client_secret_basic, client_secret_post or none")
	}
	return c, authURL, nil
}

func fill(value *string, otherwise string) {
	if *value == "" {
		*value = otherwise
	}
}

// config returns the client for the oauth2 package.
func (c client) config(redirectURI string) *oauth2.Config {
	out := &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: redirectURI, Scopes: c.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: c.TokenURL, AuthStyle: c.style()},
	}
	if c.Method == "none" {
		out.ClientSecret = ""
	}
	return out
}

func (c client) style() oauth2.AuthStyle {
	if c.Method == "client_secret_basic" || c.Method == "" {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// newState creates an unguessable state. For a managed login it also identifies the login; that part is sealed, because
// the provider sees it.
func (b *Broker) newState(l login, managed bool) (string, error) {
	state := rand.Text()
	if !managed {
		return state, nil
	}
	place, err := json.Marshal([]string{l.key.App, l.key.User, l.key.ID, l.name})
	if err != nil {
		return "", errors.New("the state of the login cannot be created")
	}
	sealed, err := b.vault.Seal(place, vault.Bind("state", state))
	if err != nil {
		return "", err
	}
	return state + "." + strings.TrimPrefix(string(sealed), vault.Prefix), nil
}

// placeOf decodes what newState has encoded.
func (b *Broker) placeOf(state string) (l login, ok bool) {
	random, place, _ := strings.Cut(state, ".")
	plain, err := b.vault.Open([]byte(vault.Prefix+place), vault.Bind("state", random))
	if err != nil {
		return login{}, false
	}
	var parts []string
	if json.Unmarshal(plain, &parts) != nil || len(parts) != 4 {
		return login{}, false
	}
	return login{key: session.Key{App: parts[0], User: parts[1], ID: parts[2]}, name: parts[3]}, true
}

// Bind sets the id under which the client is asked for a login: that of the reserved function call. It must be called
// before the client can answer. All ids of a pending login are valid until one of them is completed.
func (b *Broker) Bind(ctx context.Context, key session.Key, requestID string, asked *credential.Config) error {
	l, err := loginOf(key, asked)
	if err != nil {
		return err
	}
	_, err = b.amend(ctx, l.pendingID(), func(p *pending) (bool, error) {
		if state := stateOf(l.config.Exchanged); state != p.State {
			return false, errNonePending
		}
		if p.bound(requestID) {
			return false, nil
		}
		p.Requests = append(p.Requests, requestID)
		p.Requests = p.Requests[max(0, len(p.Requests)-mostRequests):]
		return true, nil
	})
	if errors.Is(err, errNonePending) {
		return refuse(Conflicting, "This request for a login has been replaced by another one")
	}
	return err
}

// Bind is like Broker.Bind for this session.
func (s *Session) Bind(ctx context.Context, requestID string, asked *credential.Config) error {
	return s.broker.Bind(ctx, s.key, requestID, asked)
}

func stateOf(c *credential.Credential) string {
	if c == nil || c.OAuth2 == nil {
		return ""
	}
	return c.OAuth2.State
}

// late reports whether the request has expired.
func (b *Broker) late(p *pending) bool { return b.waitTTL > 0 && b.now().Sub(p.Created) >= b.waitTTL }
