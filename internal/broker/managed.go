package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"

	"github.com/parley-run/parley/session"
)

// A managed login goes through this server, while the client only opens a URL:
//
//	StartPath     shows which application asks for what, and sets a cookie
//	  Begin       the user agrees; the login is bound to that browser
//	              … the user logs in at the provider …
//	CallbackPath  Callback accepts the code, from that browser only
//
// The URL of a login can be sent to other people. If it were that of the provider, they would log in without seeing for
// whom. So the client gets the URL of a page here that shows it, and the URL at the provider works only in the browser
// in which the user agreed.
//
// A client that adds its own redirect_uri to the URL is redirected to the provider with it, and completes the login
// itself.

// Paths where users begin and end a managed login.
const (
	StartPath    = "/oauth/start"
	CallbackPath = "/oauth/callback"
)

// startURL returns the URL that a client opens for a user to log in.
func (b *Broker) startURL(p *pending) string {
	if !p.Managed || b.public == "" {
		return p.AuthURI
	}
	return b.public + StartPath + "?" + url.Values{"state": {p.State}}.Encode()
}

// Visit is what a user is shown before a login.
type Visit struct {
	App, User string
	Provider  string // its host
	Scopes    []string
}

// Visit finds the login that a state belongs to. An invalid state is an *AnswerError.
func (b *Broker) Visit(ctx context.Context, state string) (Visit, error) {
	l, p, err := b.managed(ctx, state)
	if err != nil {
		return Visit{}, err
	}
	return Visit{App: l.key.App, User: l.key.User, Provider: host(p.AuthURI), Scopes: p.Client.Scopes}, nil
}

// SendOn returns the authorization URL from which users return to a client's own redirect URI.
func (b *Broker) SendOn(ctx context.Context, state, redirectURI string) (string, error) {
	_, p, err := b.managed(ctx, state)
	if err != nil {
		return "", err
	}
	return p.address(redirectURI)
}

// Begin binds a login to the browser that has a token, and returns the authorization URL from which that browser
// returns to Callback. If a login is begun in several browsers, the last one counts.
func (b *Broker) Begin(ctx context.Context, state, browser string) (string, error) {
	l, _, err := b.managed(ctx, state)
	if err != nil {
		return "", err
	}
	p, err := b.amend(ctx, l.pendingID(), func(p *pending) (bool, error) {
		if !same(state, p.State) {
			return false, errNonePending
		}
		p.Browser = fingerprint(browser)
		return true, nil
	})
	if errors.Is(err, errNonePending) {
		return "", errLoginOver
	}
	if err != nil {
		return "", err
	}
	return p.address(b.public + CallbackPath)
}

// Back is the result of a callback.
type Back struct {
	Key       session.Key
	RequestID string // the request that it answers
	Denied    bool   // the user refused
}

// Callback handles the URL with which a browser returned to this server, and stores what is needed of it. The caller
// continues with an empty answer to the request: Receive accepts it, and Complete exchanges the code.
//
// An invalid callback is an *AnswerError and changes nothing. A refusal by the user is valid; Complete reports it.
func (b *Broker) Callback(ctx context.Context, callbackURL *url.URL, browser string) (Back, error) {
	l, _, err := b.managed(ctx, callbackURL.Query().Get("state"))
	if err != nil {
		return Back{}, err
	}
	p, err := b.amend(ctx, l.pendingID(), func(p *pending) (bool, error) {
		if browser == "" || !same(fingerprint(browser), p.Browser) {
			return false, refuse(Forbidden, "This login was not begun in this browser. Nothing was done with it")
		}
		got, err := p.callback(callbackURL)
		switch {
		case err != nil:
			return false, err
		case len(p.Requests) == 0:
			return false, errNonePending
		}
		got.RedirectURI = b.public + CallbackPath
		p.Received = got
		return true, nil
	})
	if errors.Is(err, errNonePending) {
		return Back{}, errLoginOver
	}
	if err != nil {
		return Back{}, err
	}
	return Back{l.key, p.Requests[len(p.Requests)-1], p.Received.Denied}, nil
}

var (
	errNoSuchLogin = refuse(Mismatched, "This address does not belong to a login that was begun here")
	errLoginOver   = refuse(Conflicting, "This login is over: it was completed, it has expired, or a newer one has replaced it")
)

// managed finds a pending managed login.
func (b *Broker) managed(ctx context.Context, state string) (login, *pending, error) {
	if b.vault == nil {
		return login{}, nil, ErrNoKey
	}
	l, ok := b.placeOf(state)
	if !ok {
		return login{}, nil, errNoSuchLogin
	}
	p, _, err := load[pending](ctx, b, l.pendingID())
	switch {
	case err != nil:
		return login{}, nil, err
	case p == nil || !p.Managed || !same(state, p.State) || b.late(p):
		return login{}, nil, errLoginOver
	}
	return l, p, nil
}

// address returns the authorization URL with a redirect URI.
func (p *pending) address(redirectURI string) (string, error) {
	u, err := url.Parse(p.AuthURI)
	if err != nil {
		return "", errNoSuchLogin
	}
	query := u.Query()
	query.Set("redirect_uri", redirectURI)
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// fingerprint is the stored digest of a browser's token.
func fingerprint(browser string) string {
	sum := sha256.Sum256([]byte("browser " + browser))
	return hex.EncodeToString(sum[:])
}
