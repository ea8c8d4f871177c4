package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/time/rate"

	"github.com/parley-run/parley/internal/loopback"
)

// Client is this server as an issuer knows it: users with a browser go to the
// issuer, sign in there, and come back with a code for an identity token.
type Client struct {
	issuer     *issuer
	id, secret string
	http       *http.Client
}

func newClient(i *issuer, id, secret string) *Client {
	// Anybody can make up an attempt with its code, and have the issuer asked about
	// it. Those who sign in do so once in hours.
	transport := &throttled{next: http.DefaultTransport, limit: rate.NewLimiter(rate.Every(time.Second), 60)}
	return &Client{i, id, secret, &http.Client{Timeout: issuerTimeout, Transport: transport}}
}

// Client is where users sign in; nil if they cannot.
func (g *Issuers) Client() *Client { return g.client }

// Issuer is the address of the issuer.
func (c *Client) Issuer() string { return c.issuer.url }

// Attempt is a sign-in that is under way. It is the browser's: whoever comes back
// with it is whoever went.
type Attempt struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	Return   string `json:"r"` // where the user was
}

// The ways in which a sign-in can end without a user.
var (
	// ErrNotBegun means that somebody comes back who did not go, or has come back
	// before.
	ErrNotBegun = errors.New("this sign-in was not begun in this browser, or is over")
	// ErrDenied means that the user or the issuer did not want it.
	ErrDenied = errors.New("the issuer has not let the user in")
)

// Begin begins a sign-in. The address is where to send the browser; redirect is
// where it comes back to.
func (c *Client) Begin(ctx context.Context, redirect string) (address string, a Attempt, err error) {
	config, err := c.config(ctx, redirect)
	if err != nil {
		return "", a, err
	}
	a = Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return config.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("nonce", a.Nonce)), a, nil
}

// Finish gets the identity token for a browser that came back. It fails with
// ErrNotBegun, ErrDenied, a *RefusedError or an *UnavailableError.
func (c *Client) Finish(ctx context.Context, a Attempt, redirect string, back url.Values) (token string, err error) {
	if a.State == "" || subtle.ConstantTimeCompare([]byte(back.Get("state")), []byte(a.State)) != 1 {
		return "", ErrNotBegun
	}
	config, err := c.config(ctx, redirect)
	if err != nil {
		return "", err
	}
	if iss := back.Get("iss"); iss != c.issuer.url && (iss != "" || c.issuer.saysIssuer) { // RFC 9207
		return "", &RefusedError{fmt.Sprintf("the answer is not one of the issuer: iss is %.100q", iss)}
	}
	if back.Get("code") == "" {
		return "", fmt.Errorf("%w: %.100q", ErrDenied, back.Get("error"))
	}
	got, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, c.http), back.Get("code"), oauth2.VerifierOption(a.Verifier))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
			return "", &RefusedError{fmt.Sprintf("the issuer does not take the code: %s %.100q", refused.Response.Status, refused.ErrorCode)}
		}
		return "", &UnavailableError{err}
	}
	token, _ = got.Extra("id_token").(string)
	if token == "" {
		return "", &RefusedError{"the issuer has given no identity token"}
	}
	verified, err := c.issuer.verify(ctx, token)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare([]byte(verified.Nonce), []byte(a.Nonce)) != 1 {
		return "", &RefusedError{"the token was made for another sign-in"}
	}
	return token, nil
}

// config is what the protocol needs, once the issuer has told about itself.
func (c *Client) config(ctx context.Context, redirect string) (*oauth2.Config, error) {
	if _, err := c.issuer.verifier(ctx); err != nil {
		return nil, &UnavailableError{err}
	}
	for _, address := range []string{c.issuer.signIn.AuthURL, c.issuer.signIn.TokenURL} {
		if u, err := url.Parse(address); err != nil || !loopback.Secure(u) || u.User != nil {
			return nil, &UnavailableError{errors.New("the issuer's authorization_endpoint and token_endpoint must begin with https://")}
		}
	}
	config := &oauth2.Config{
		ClientID: c.id, ClientSecret: c.secret, RedirectURL: redirect,
		Endpoint: c.issuer.signIn, // which does not change any more
		Scopes:   []string{"openid", "profile", "email"},
	}
	if c.secret == "" {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return config, nil
}
