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

// Entry describes a stored credential of a user. It contains no secrets.
type Entry struct {
	// Name identifies it for Revoke.
	Name string
	// Session is the session that it belongs to, or "" for all sessions of the user.
	Session string
	// Key is the credential key by which tools share it.
	Key      string
	Type     credential.Type
	Provider string   // the host, or "" when the user has typed the credential in
	Scopes   []string // what was granted
	// GrantedAt is the time of the login, and ExpiresAt the expiry of the access token, or zero; it may be refreshed
	// then.
	GrantedAt, ExpiresAt time.Time
	// Age is the time since it was stored: at the login or at the last refresh.
	Age time.Duration
}

// List returns the stored credentials of a user.
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

// Revoke deletes a credential and revokes its tokens at the provider if possible. Session and name are those of an
// Entry. It returns session.ErrNoSecret if there is none.
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
		b.revokeTokens(ctx, g)
	}
	return nil
}

// revokeTokens revokes tokens at the provider. If that fails, they expire by themselves.
func (b *Broker) revokeTokens(ctx context.Context, g *grant) {
	if g.Client.RevokeURL == "" && g.Client.Discovery != "" {
		if d, err := b.discover(ctx, g.Client.Discovery); err == nil {
			g.Client.RevokeURL = d.Revoke
		}
	}
	form := url.Values{"token": {g.RefreshToken}, "token_type_hint": {"refresh_token"}}
	if g.RefreshToken == "" { // revoking it revokes the access token as well
		form = url.Values{"token": {g.AccessToken}, "token_type_hint": {"access_token"}}
	}
	if g.Client.RevokeURL == "" || form.Get("token") == "" {
		return
	}
	if err := b.post(ctx, &g.Client, g.Client.RevokeURL, form); err != nil {
		b.log.WarnContext(ctx, "failed to revoke a token at its provider", "provider", host(g.Client.RevokeURL), "err", err)
	}
}

// post sends a form to a provider, authenticated as the client.
func (b *Broker) post(ctx context.Context, c *client, to string, form url.Values) error {
	if c.style() == oauth2.AuthStyleInParams {
		form.Set("client_id", c.ID)
		if c.Method != "none" {
			form.Set("client_secret", c.Secret)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return &ExchangeError{Provider: host(to), Reason: "the URL of the endpoint is invalid"}
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
