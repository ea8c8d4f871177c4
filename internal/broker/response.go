package broker

import (
	"context"
	"errors"
	"time"

	"golang.org/x/oauth2"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/session"
)

// Response returns a credential for calling an API: the one that the tool is configured with, the one of a login, or
// one for a program. It returns nil without an error if the user has to log in.
func (s *Session) Response(ctx context.Context, config *credential.Config) (*credential.Credential, error) {
	l, err := loginOf(s.key, config)
	if err != nil {
		return nil, err
	}
	s.out.Add(secretsOf(l.config.Raw)...)
	if cred := ready(l.config.Raw, s.broker.now()); cred != nil {
		return s.handing(cred, nil)
	}
	if l.config.ForProgram() {
		return s.handing(s.broker.machineCredential(ctx, l))
	}
	if s.broker.vault == nil {
		return nil, nil //nolint:nilnil // the tool calls Request next, which reports the reason
	}
	return s.handing(s.broker.kept(ctx, l))
}

// Drop deletes the credential of a login, or one for a program, because the API has refused it. If config has the
// refused one as its exchanged credential, Drop keeps a newer one.
func (s *Session) Drop(ctx context.Context, config *credential.Config) error {
	var refused *credential.Credential
	if config != nil && config.Exchanged != nil {
		bare := *config
		refused, bare.Exchanged = config.Exchanged, nil
		config = &bare
	}
	l, err := loginOf(s.key, config)
	if err != nil {
		return err
	}
	b := s.broker
	switch {
	case l.config.ForProgram():
		b.machines.drop(machineKey(l), refused)
		return nil
	case refused == nil || b.vault == nil:
		return b.remove(ctx, b.grantID(l))
	}
	// The holder of the lock may be about to store a new one.
	work, release, err := b.lock(ctx, b.lockID(l))
	if err != nil {
		return err
	}
	defer release()
	g, _, err := load[grant](work, b, b.grantID(l))
	if err != nil || g == nil {
		return err
	}
	if kept, err := g.credential(b.now()); err == nil && !sameToken(kept, refused) {
		return nil
	}
	return b.remove(work, b.grantID(l))
}

// sameToken reports whether both credentials have the same token.
func sameToken(a, b *credential.Credential) bool {
	if a.OAuth2 != nil && b.OAuth2 != nil {
		return same(a.OAuth2.AccessToken, b.OAuth2.AccessToken)
	}
	one, err := a.AppendJSON(nil, credential.Camel)
	other, also := b.AppendJSON(nil, credential.Camel)
	return err == nil && also == nil && same(string(one), string(other))
}

// ready returns a configured credential that can be used as it is.
func ready(raw *credential.Credential, now time.Time) *credential.Credential {
	switch {
	case raw == nil:
	case raw.Type == credential.TypeAPIKey && raw.APIKey != "":
		return raw.Clone()
	case raw.Type == credential.TypeHTTP && raw.HTTP != nil &&
		(raw.HTTP.Token != "" || raw.HTTP.Username != "" || raw.HTTP.Password != "" || len(raw.HTTP.AdditionalHeaders) > 0):
		return raw.Clone()
	case raw.OAuth2 != nil && raw.OAuth2.AccessToken != "" && (raw.OAuth2.ExpiresAt == 0 || raw.OAuth2.ExpiresAt > now.Unix()):
		o := raw.OAuth2
		return &credential.Credential{Type: raw.Type, OAuth2: &credential.OAuth2{
			ClientID: o.ClientID, AccessToken: o.AccessToken, IDToken: o.IDToken, ExpiresAt: o.ExpiresAt,
		}}
	}
	return nil
}

// kept returns the credential of a login, with a token that is valid for some time.
func (b *Broker) kept(ctx context.Context, l login) (*credential.Credential, error) {
	id := b.grantID(l)
	g, at, err := load[grant](ctx, b, id)
	if err != nil || g == nil {
		return nil, err
	}
	if !b.due(g) {
		// A refresh seals it again anyway; storing it without the lock might undo a refresh.
		if at.stale && g.RefreshToken == "" {
			if err := b.save(ctx, id, at, g); err != nil {
				b.log.InfoContext(ctx, "failed to reseal a credential", "app", id.App, "session_id", id.Session, "err", err)
			}
		}
		return g.credential(b.now())
	}
	work, release, err := b.lock(ctx, b.lockID(l))
	if err != nil {
		return nil, err
	}
	defer release()
	// Another process may have refreshed it in the meantime.
	if g, at, err = load[grant](work, b, id); err != nil || g == nil {
		return nil, err
	}
	if b.due(g) {
		if g, err = b.refresh(work, l, g, at); err != nil || g == nil {
			return nil, err
		}
	}
	return g.credential(b.now())
}

// due reports whether a credential must be refreshed before use. One that cannot be refreshed is used until it expires.
func (b *Broker) due(g *grant) bool {
	if g.RefreshToken == "" {
		return g.expired(b.now(), 0)
	}
	return g.expired(b.now(), leeway)
}

// refresh refreshes a credential and stores it. It returns nil if the user has to log in again. The caller must hold
// the lock.
func (b *Broker) refresh(ctx context.Context, l login, g *grant, at mark) (*grant, error) {
	id := b.grantID(l)
	if g.RefreshToken == "" {
		return nil, b.remove(ctx, id)
	}
	c := g.Client
	if o := l.config.Raw; o != nil && o.OAuth2 != nil && o.OAuth2.ClientSecret != "" {
		c.Secret = o.OAuth2.ClientSecret // it may have changed
	}
	via := c.config("")
	via.Endpoint.TokenURL = firstOf(c.RefreshURL, c.TokenURL)
	token, err := via.TokenSource(b.calls(ctx), &oauth2.Token{RefreshToken: g.RefreshToken}).Token()
	if err != nil {
		failed := failure(g.provider(), err, c.Secret, g.RefreshToken, g.AccessToken)
		b.log.InfoContext(ctx, "failed to refresh a token", "app", id.App, "session_id", id.Session, "provider", g.provider(), "err", failed)
		switch {
		case failed.Code == "invalid_grant":
			return nil, b.remove(ctx, id)
		case !g.expired(b.now(), 0):
			return g, nil // it is valid for a little longer
		}
		return nil, failed
	}
	renewed := *g
	renewed.Client = c
	renewed.take(token, b)
	if renewed.IDToken != g.IDToken && b.checkIDToken(ctx, &c, renewed.IDToken, "") != nil {
		renewed.IDToken = g.IDToken
	}
	err = b.saveSurely(ctx, id, at, &renewed)
	if errors.Is(err, session.ErrChanged) || errors.Is(err, session.ErrNotFound) {
		return b.overtaken(ctx, id, &renewed)
	}
	if err != nil {
		return nil, err
	}
	return &renewed, nil
}

// overtaken checks what happened to a credential during a refresh. If it was revoked, the new one must not be used
// either.
func (b *Broker) overtaken(ctx context.Context, id session.SecretID, renewed *grant) (*grant, error) {
	now, _, err := load[grant](ctx, b, id)
	if err != nil || now != nil {
		return now, err
	}
	b.revokeTokens(ctx, renewed)
	return nil, nil //nolint:nilnil // the user has to log in
}
