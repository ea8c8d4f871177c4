package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/session"
)

// Entry tells of a credential that is kept for a user. It has no secret.
type Entry struct {
	// Name is what Revoke wants to know.
	Name string
	// Session is the session that it is kept for, or "" for all of the user.
	Session string
	// Key is the credential key that tools share it by.
	Key      string
	Type     credential.Type
	Provider string   // the host, or "" when the user has typed the credential in
	Scopes   []string // what was granted
	// GrantedAt is when the user has logged in, and ExpiresAt when the access
	// token ends, or zero; it may be refreshed then.
	GrantedAt, ExpiresAt time.Time
	// Age is how long ago it was stored: at the login or at the last refresh.
	Age time.Duration
}

// List tells which credentials are kept for a user.
func (b *Broker) List(ctx context.Context, app, user string) ([]Entry, error) {
	secrets, err := b.secrets.ListSecrets(ctx, app, user)
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	entries := []Entry{}
	for _, s := range secrets {
		name, ok := strings.CutPrefix(s.Name, credentialPrefix)
		if !ok {
			continue
		}
		var is about
		if err := json.Unmarshal(s.About, &is); err != nil {
			is = about{}
		}
		entries = append(entries, Entry{
			Name: name, Session: s.Session, Key: is.Key, Type: is.Type, Provider: is.Provider, Scopes: is.Scopes,
			GrantedAt: moment(is.GrantedAt), ExpiresAt: moment(is.ExpiresAt), Age: s.Age,
		})
	}
	return entries, nil
}

func moment(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// Revoke forgets a credential, and gives its tokens back to the provider if that
// is possible. Session and name are those of an Entry. session.ErrNoSecret when
// there is none.
func (b *Broker) Revoke(ctx context.Context, app, user, sessionID, name string) error {
	id := session.SecretID{App: app, User: user, Session: sessionID, Name: credentialPrefix + name}
	if _, err := b.secrets.Secret(ctx, id); err != nil {
		return fmt.Errorf("revoke credential: %w", err)
	}
	g, _, err := load[grant](ctx, b, id)
	if err != nil && !errors.Is(err, ErrNoKey) {
		return err
	}
	if err := b.remove(ctx, id); err != nil {
		return err
	}
	if g != nil {
		b.giveBack(ctx, g)
	}
	return nil
}

// giveBack tells the provider that tokens are no longer needed. If it does not
// listen, they end by themselves.
func (b *Broker) giveBack(ctx context.Context, g *grant) {
	if g.Client.RevokeURL == "" && g.Client.Discovery != "" {
		if d, err := b.discover(ctx, g.Client.Discovery); err == nil {
			g.Client.RevokeURL = d.Revoke
		}
	}
	form := url.Values{"token": {g.RefreshToken}, "token_type_hint": {"refresh_token"}}
	if g.RefreshToken == "" { // with that, the access token goes as well
		form = url.Values{"token": {g.AccessToken}, "token_type_hint": {"access_token"}}
	}
	if g.Client.RevokeURL == "" || form.Get("token") == "" {
		return
	}
	if err := b.post(ctx, &g.Client, g.Client.RevokeURL, form); err != nil {
		b.log.WarnContext(ctx, "A token was forgotten, but not given back to its provider", "provider", host(g.Client.RevokeURL), "err", err)
	}
}

// post sends a form to a provider, with the client's name on it.
func (b *Broker) post(ctx context.Context, c *client, to string, form url.Values) error {
	if c.style() == oauth2.AuthStyleInParams {
		form.Set("client_id", c.ID)
		if c.Method != "none" {
			form.Set("client_secret", c.Secret)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return &ExchangeError{Provider: host(to), Reason: "the endpoint's address is not one"}
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.style() == oauth2.AuthStyleInHeader {
		request.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	response, err := b.client.Do(request)
	if err != nil {
		return failure(host(to), err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode/100 != 2 {
		e := &ExchangeError{Provider: host(to)}
		e.answered(response, "", nil)
		return e
	}
	return nil
}
