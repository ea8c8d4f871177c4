package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"

	"github.com/parley-run/parley/session"
)

// A managed login is one that users go through with the help of this server,
// while the client does no more than open an address:
//
//	StartPath     says who wants what for whom, and gives the browser a cookie
//	  Begin       the user goes on; the login is bound to that browser
//	              … the user logs in at the provider …
//	CallbackPath  Callback takes the code, from that very browser
//
// Whoever has the address of somebody's login may send it to others. Were it the
// provider's own, they would log in and never see for whom. So the client gets
// the address of a page here, which says it; and the address at the provider is
// of no use in any other browser than the one in which the user has said yes.
//
// A client that adds a redirect_uri of its own to the address is sent on to the
// provider with it, and completes the login as if the server were not there.

// Where users begin and end a managed login.
const (
	StartPath    = "/oauth/start"
	CallbackPath = "/oauth/callback"
)

// door is the address that a client opens for a user to log in.
func (b *Broker) door(p *pending) string {
	if !p.Managed || b.public == "" {
		return p.AuthURI
	}
	return b.public + StartPath + "?" + url.Values{"state": {p.State}}.Encode()
}

// Visit is what a user is told before a login.
type Visit struct {
	App, User string
	Provider  string // its host
	Scopes    []string
}

// Visit finds the login that a state belongs to. What is wrong with it is an
// *AnswerError.
func (b *Broker) Visit(ctx context.Context, state string) (Visit, error) {
	l, p, err := b.managed(ctx, state)
	if err != nil {
		return Visit{}, err
	}
	return Visit{App: l.key.App, User: l.key.User, Provider: host(p.AuthURI), Scopes: p.Client.Scopes}, nil
}

// SendOn is the address at the provider from which users come back to a client's
// own address.
func (b *Broker) SendOn(ctx context.Context, state, redirectURI string) (string, error) {
	_, p, err := b.managed(ctx, state)
	if err != nil {
		return "", err
	}
	return p.address(redirectURI)
}

// Begin binds a login to the browser that has been given a token, and returns
// the address at the provider from which that browser comes back to Callback.
// The browser in which a login was begun last is the one that counts.
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

// Back is how a user came back.
type Back struct {
	Key       session.Key
	RequestID string // the request that it is an answer to
	Denied    bool   // the user said no
}

// Callback takes the address with which a browser came back to this server, and
// keeps what is needed of it. Whoever calls it goes on with an answer to the
// request that has nothing in it: Receive takes it, and Complete exchanges the
// code.
//
// What is wrong is an *AnswerError: nothing has changed then. That the user said
// no is not wrong; Complete says it.
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
	errLoginOver   = refuse(Conflicting, "This login is over: it was completed, it has expired, or a newer one has taken its place")
)

// managed finds a managed login that is pending.
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

// address is where the user logs in and from where they come back to a place.
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

// fingerprint is what is kept of a browser's token.
func fingerprint(browser string) string {
	sum := sha256.Sum256([]byte("browser " + browser))
	return hex.EncodeToString(sum[:])
}
