package broker

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/openid"
	"github.com/parley-run/parley/session"
)

// Complete exchanges what was received for a credential and stores it. It is idempotent, and does nothing for a login
// that is not pending: the tool then asks again.
//
// A *DeniedError means that the user refused, an *ExchangeError that the provider did. After both the login is no
// longer pending, so a tool that still needs it asks again.
func (b *Broker) Complete(ctx context.Context, key session.Key, requestID string, asked *credential.Config) error {
	l, err := loginOf(key, asked)
	if err != nil {
		return err
	}
	if b.vault == nil {
		return ErrNoKey
	}
	work, release, err := b.lock(ctx, b.lockID(l))
	if err != nil {
		return err
	}
	defer release()
	p, _, err := load[pending](work, b, l.pendingID())
	switch {
	case err != nil:
		return err
	case p == nil || !p.bound(requestID):
		return nil
	case p.Received == nil:
		return refuse(Conflicting, "This request for a login has not been answered yet")
	}
	g, _, err := load[grant](work, b, b.grantID(l))
	if err != nil {
		return err
	}
	if g == nil || g.Pending != p.ID { // otherwise only the last step is missing
		if g, err = b.exchange(work, l, p); err == nil {
			err = b.replace(work, b.grantID(l), g)
		}
	}
	refused := refusal(err)
	if err != nil && !refused {
		return err
	}
	if refused {
		b.log.InfoContext(ctx, "login failed", "app", key.App, "session_id", key.ID, "provider", p.provider(), "err", err)
	} else {
		b.log.InfoContext(ctx, "login completed", "app", key.App, "session_id", key.ID, "provider", p.provider())
	}
	return errors.Join(err, b.remove(work, l.pendingID()))
}

// refusal reports whether an error is a refusal by the user or the provider.
func refusal(err error) bool {
	_, denied := errors.AsType[*DeniedError](err)
	_, failed := errors.AsType[*ExchangeError](err)
	return denied || failed
}

// exchange turns what was received into a credential.
func (b *Broker) exchange(ctx context.Context, l login, p *pending) (*grant, error) {
	g := &grant{
		Client: p.Client, Key: l.config.Key(), Type: l.config.Scheme.Type, GrantedAt: b.now().Unix(),
		Scopes: p.Client.Scopes, Credential: p.Received.Credential, Pending: p.ID, Session: l.key.ID, Requests: p.Requests,
	}
	if l.config.Raw != nil {
		g.Type = l.config.Raw.Type
	}
	switch {
	case p.Received.Denied:
		return nil, &DeniedError{p.provider()}
	case p.Received.Credential != nil:
		return g, nil
	}
	token, err := p.Client.config(p.Received.RedirectURI).
		Exchange(b.calls(ctx), p.Received.Code, oauth2.VerifierOption(p.Verifier))
	if err != nil {
		return nil, failure(p.provider(), err, p.Client.Secret, p.Verifier, p.Received.Code)
	}
	g.take(token, b)
	if g.IDToken == "" {
		return g, nil
	}
	if err := b.checkIDToken(ctx, &g.Client, g.IDToken, p.Nonce); err != nil {
		if p.Nonce != "" {
			return nil, err
		}
		g.IDToken = "" // it was not requested
	}
	return g, nil
}

// take copies the tokens of a provider.
func (g *grant) take(token *oauth2.Token, b *Broker) {
	g.AccessToken, g.RefreshToken = token.AccessToken, token.RefreshToken
	switch {
	case token.ExpiresIn > 0:
		g.ExpiresAt = b.now().Unix() + token.ExpiresIn
	case !token.Expiry.IsZero():
		g.ExpiresAt = b.now().Add(time.Until(token.Expiry)).Unix()
	default:
		g.ExpiresAt = 0
	}
	if id, ok := token.Extra("id_token").(string); ok && id != "" {
		g.IDToken = id
	}
	if scope, ok := token.Extra("scope").(string); ok && scope != "" {
		g.Scopes = strings.FieldsFunc(scope, func(c rune) bool { return c == ' ' }) // as RFC 6749 has it: a comma may be a part of one
	}
}

// checkIDToken checks that an ID token is meant for this client and this login. It verifies the signature if the
// provider publishes its keys. Otherwise it relies on TLS to the token endpoint, which OpenID Connect allows.
func (b *Broker) checkIDToken(ctx context.Context, c *client, text, nonce string) error {
	provider := host(c.TokenURL)
	library, err := openid.Find()
	if err != nil {
		return err
	}
	check := openid.Check{ClientID: c.ID, Now: b.now}
	var verifier openid.Verifier
	if c.Discovery != "" {
		d, err := b.discover(ctx, c.Discovery)
		if err != nil {
			return failure(provider, err)
		}
		verifier = d.provider.Verifier(b.calls(ctx), check)
	} else {
		check.Algorithms = append(openid.Asymmetric(), "HS256")
		verifier = library.Unsigned(check)
	}
	token, err := verifier.Verify(b.calls(ctx), text)
	if err != nil || nonce != "" && !same(token.Nonce, nonce) {
		return &ExchangeError{Provider: provider, Reason: "the ID token is invalid: it is not signed by the provider, not meant for this client " +
			"or this login, or it has expired"}
	}
	return nil
}
