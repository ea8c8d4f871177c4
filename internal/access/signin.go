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

// Client is this server as an OpenID Connect client of an issuer. Users sign in there with a browser and return with a
// code for an identity token.
type Client struct {
	issuer     *issuer
	id, secret string
	http       *http.Client
}

func newClient(i *issuer, id, secret string) *Client {
	// Callers can invent an attempt with its code, and each one causes a request to the issuer. Real users sign in once
	// in hours.
	transport := &throttled{next: http.DefaultTransport, limit: rate.NewLimiter(rate.Every(time.Second), 60)}
	return &Client{i, id, secret, &http.Client{Timeout: issuerTimeout, Transport: transport}}
}

// Client returns the client with which users sign in; nil if they cannot.
func (g *Issuers) Client() *Client { return g.client }

// Issuer returns the URL of the issuer.
func (c *Client) Issuer() string { return c.issuer.url }

// Attempt is a pending sign-in. The browser stores it, which proves that the same browser returns.
type Attempt struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // PKCE
	Return   string `json:"r"` // the path to return to
}

// The ways in which a sign-in can fail.
var (
	// ErrNotBegun means that a callback does not match a pending sign-in, or was already used.
	ErrNotBegun = errors.New("this sign-in was not begun in this browser, or is over")
	// ErrDenied means that the user or the issuer refused.
	ErrDenied = errors.New("the issuer denied access")
)

// Begin begins a sign-in. address is where to send the browser; redirect is where the issuer sends it back.
func (c *Client) Begin(ctx context.Context, redirect string) (address string, a Attempt, err error) {
	config, err := c.config(ctx, redirect)
	if err != nil {
		return "", a, err
	}
	a = Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return config.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("nonce", a.Nonce)), a, nil
}

// Finish exchanges the code of a callback for the identity token. It fails with ErrNotBegun, ErrDenied, a *RefusedError
// or an *UnavailableError.
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
			return "", &RefusedError{fmt.Sprintf("the issuer refused the code: %s %.100q", refused.Response.Status, refused.ErrorCode)}
		}
		return "", &UnavailableError{err}
	}
	token, _ = got.Extra("id_token").(string)
	if token == "" {
		return "", &RefusedError{"the issuer returned no identity token"}
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

// config returns the OAuth 2.0 configuration, after discovery.
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
		Endpoint: c.issuer.signIn, // constant after discovery
		Scopes:   []string{"openid", "profile", "email"},
	}
	if c.secret == "" {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return config, nil
}
