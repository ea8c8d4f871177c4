package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/loopback"
	"github.com/parley-run/parley/internal/wire"
)

// SignIn authenticates the users of the developer UI. Their token is kept in a cookie that scripts cannot read and
// other sites cannot send. The UI's own pages may send it in place of the Authorization header.
type SignIn struct {
	// Takes is what a user may type in: TakesKey or TakesToken. Empty disables sign-in.
	Takes string
	// At is the issuer where users can sign in instead; it may be nil.
	At *access.Client
	// Attempts seals pending sign-ins at At, which browsers store. All servers that a browser may return to need the
	// same keys.
	Attempts *vault.Vault
}

// What a user may type in: an API key, or an identity token.
const (
	TakesKey   = "key"
	TakesToken = "token"
)

const (
	signInPath   = "/dev-ui/signin"
	callbackPath = "/dev-ui/signin/callback"
	signOutPath  = "/dev-ui/signout"
	callerPath   = "/dev-ui/caller"

	callerCookie  = "parley_caller"
	attemptCookie = "parley_signin"
	attemptLife   = 10 * time.Minute
	// largestCookie is a size that all browsers accept.
	largestCookie = 3800
	// largestSignIn bounds the body with a token, because the route requires no authentication.
	largestSignIn = 32 << 10
)

// signInRoutes are the routes with which users of the UI sign in. They exist only with the UI.
func (s *Server) signInRoutes() []route {
	return []route{
		{"GET", callerPath, noStore(s.aboutCaller)},
		{"GET", signInPath, s.atIssuer(s.beginSignIn)},
		{"GET", callbackPath, s.atIssuer(s.finishSignIn)},
		{"POST", signInPath, noStore(s.takeToken)},
		{"POST", signOutPath, noStore(s.signOut)},
	}
}

// noStore is a route whose responses must not be cached.
func noStore(route func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-store")
		return route(w, r)
	}
}

// identify authenticates a request: by its Authorization header or, for pages of this server, by the cookie.
func (s *Server) identify(r *http.Request) (*access.Caller, error) {
	if token := s.signedIn(r); token != "" {
		r = withToken(r, token)
	}
	return s.Gate(r)
}

// signedIn returns the token in the cookie of a request, or "" if the cookie does not apply.
func (s *Server) signedIn(r *http.Request) string {
	if s.SignIn.Takes == "" || s.UI == nil || len(r.Header["Authorization"]) > 0 || !s.ownPage(r) {
		return ""
	}
	cookie, err := r.Cookie(s.cookieName(r, callerCookie))
	if err != nil {
		return ""
	}
	return cookie.Value
}

func withToken(r *http.Request, token string) *http.Request {
	r = r.WithContext(r.Context())
	r.Header = r.Header.Clone()
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// ownPage reports whether a browser sends a request for a page of this server, or directly for its user. All other
// sites, including sibling domains, other ports and those in AllowOrigins, must send their own token.
func (s *Server) ownPage(r *http.Request) bool {
	origin, safe := r.Header.Get("Origin"), r.Method == http.MethodGet || r.Method == http.MethodHead
	if origin != "" && !sameOrigin(origin, r.Host) && !s.isPublic(origin, "") {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
		return true
	case "none": // typed in, or a bookmark
		return safe
	case "": // browsers omit it without TLS
		return safe || origin != ""
	}
	return false
}

// aboutCaller tells the UI who its user is, and how to sign in. It requires no authentication and reveals nothing about
// others.
func (s *Server) aboutCaller(w http.ResponseWriter, r *http.Request) error {
	var caller *access.Caller
	if s.Gate != nil {
		var err error
		caller, err = s.identify(r)
		if down, ok := errors.AsType[*access.UnavailableError](err); ok {
			return s.unknown(w, r, down)
		}
		if err != nil {
			return s.showCaller(w, nil, false)
		}
	}
	return s.showCaller(w, viewOf(caller), s.signedIn(r) != "")
}

// callerView is a caller as the UI sees it.
type callerView struct {
	User      string `json:"user,omitempty"`
	AnyUser   bool   `json:"anyUser"`
	Developer bool   `json:"developer"`
	// Scopes are what the caller may do.
	Scopes []access.Scope `json:"scopes"`
	// Author is who feedback of the caller is by; empty for that of the user that it acts as.
	Author   string  `json:"author,omitempty"`
	Expires  float64 `json:"expires,omitempty"`
	SignedIn bool    `json:"signedIn"`
}

// viewOf returns the view of a caller; a nil caller has every permission.
func viewOf(c *access.Caller) *callerView {
	view := &callerView{AnyUser: c.May(access.Users), Developer: c.May(access.Dev), Scopes: c.Scopes(), Author: c.Self()}
	if c != nil {
		view.User = c.User
		if !c.Expires.IsZero() {
			view.Expires = event.Seconds(c.Expires)
		}
	}
	return view
}

func (s *Server) showCaller(w http.ResponseWriter, view *callerView, signedIn bool) error {
	about := struct {
		SignIn string      `json:"signIn"`
		Issuer string      `json:"issuer,omitempty"`
		Caller *callerView `json:"caller"`
	}{SignIn: "none", Caller: view}
	if s.SignIn.Takes != "" {
		about.SignIn = s.SignIn.Takes
	}
	if s.SignIn.At != nil {
		about.Issuer = s.SignIn.At.Issuer()
	}
	if view != nil {
		view.SignedIn = signedIn
	}
	return answer(w, about)
}

// takeToken signs in a user who has typed in a key or a token.
func (s *Server) takeToken(w http.ResponseWriter, r *http.Request) error {
	if s.SignIn.Takes == "" {
		return &httpError{status: http.StatusNotFound, message: "Sign-in is not enabled"}
	}
	if !s.ownPage(r) {
		return errForeignPage
	}
	doc, err := bodyUpTo(min(largestSignIn, s.MaxBody), w, r)
	if err != nil {
		return err
	}
	var token string
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(member string) error {
			if member == "token" {
				return in.String(&token)
			}
			return in.Skip()
		})
	})
	if err != nil {
		return err
	}
	if token = strings.TrimSpace(token); token == "" {
		return invalid(wire.Missing("token"))
	}
	caller, err := s.signInWith(w, r, token)
	if _, broken := errors.AsType[*httpError](err); broken {
		return err
	}
	if err != nil {
		return s.unknown(w, r, err)
	}
	return s.showCaller(w, viewOf(caller), true)
}

var errForeignPage = &httpError{status: http.StatusForbidden, message: "Forbidden: only pages of this server may do that"}

// signInWith checks a token and stores it in a cookie until it expires.
func (s *Server) signInWith(w http.ResponseWriter, r *http.Request, token string) (*access.Caller, error) {
	caller, err := s.Gate(withToken(r, token))
	if err != nil {
		return nil, err
	}
	if len(token) > largestCookie {
		return nil, &httpError{status: http.StatusBadRequest, message: "The token is too long for a browser to keep"}
	}
	life := 0 // until the browser is closed
	if !caller.Expires.IsZero() {
		life = max(1, int(time.Until(caller.Expires).Seconds()))
	}
	s.setCookie(w, r, callerCookie, token, http.SameSiteStrictMode, life)
	return caller, nil
}

// signOut deletes the cookie.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	if !s.ownPage(r) {
		return errForeignPage
	}
	s.setCookie(w, r, callerCookie, "", http.SameSiteStrictMode, -1)
	return s.showCaller(w, nil, false)
}

// beginSignIn redirects a browser to the issuer.
func (s *Server) beginSignIn(w http.ResponseWriter, r *http.Request) error {
	back, err := s.callbackAddress(r)
	if err != nil {
		return err
	}
	address, attempt, err := s.SignIn.At.Begin(r.Context(), back)
	if err != nil {
		return err
	}
	attempt.Return = returnTo(r.URL.Query().Get("return"))
	text, err := json.Marshal(sealedAttempt{attempt, time.Now().Add(attemptLife).Unix()})
	if err != nil {
		return err
	}
	sealed, err := s.SignIn.Attempts.Seal(text, vault.Bind(attemptCookie, back))
	if err != nil {
		return err
	}
	// The issuer is another site and redirects the browser back, so the cookie cannot be strict.
	s.setCookie(w, r, attemptCookie, string(sealed), http.SameSiteLaxMode, int(attemptLife.Seconds()))
	sendTo(w, r, address)
	return nil
}

// finishSignIn is the redirect target of a sign-in at the issuer. In any case, the attempt is over.
func (s *Server) finishSignIn(w http.ResponseWriter, r *http.Request) error {
	back, err := s.callbackAddress(r)
	if err != nil {
		return err
	}
	attempt := s.attempt(r, back)
	s.setCookie(w, r, attemptCookie, "", http.SameSiteLaxMode, -1)
	token, err := s.SignIn.At.Finish(r.Context(), attempt, back, r.URL.Query())
	if err != nil {
		return err
	}
	if _, err := s.signInWith(w, r, token); err != nil {
		return err
	}
	sendTo(w, r, returnTo(attempt.Return))
	return nil
}

// sealedAttempt is a pending sign-in as the browser stores it.
type sealedAttempt struct {
	access.Attempt
	Until int64 `json:"u"` // in seconds since 1970
}

// attempt returns the pending sign-in of a browser for a callback. It is empty if it was not begun on a server with the
// same keys, or has expired.
func (s *Server) attempt(r *http.Request, callback string) access.Attempt {
	cookie, err := r.Cookie(s.cookieName(r, attemptCookie))
	if err != nil {
		return access.Attempt{}
	}
	text, err := s.SignIn.Attempts.Open([]byte(cookie.Value), vault.Bind(attemptCookie, callback))
	var kept sealedAttempt
	if err != nil || json.Unmarshal(text, &kept) != nil || time.Now().Unix() >= kept.Until {
		return access.Attempt{}
	}
	return kept.Attempt
}

// atIssuer adapts a page of a sign-in at the issuer to a route, with errors as HTML.
func (s *Server) atIssuer(page func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return noStore(func(w http.ResponseWriter, r *http.Request) error {
		if s.SignIn.At == nil {
			return &httpError{status: http.StatusNotFound, message: "Sign-in is not enabled"}
		}
		err := page(w, r)
		if err == nil {
			return nil
		}
		told := &httpError{status: http.StatusInternalServerError, message: "Something went wrong"}
		refused, isRefused := errors.AsType[*access.RefusedError](err)
		down, isDown := errors.AsType[*access.UnavailableError](err)
		own, isOwn := errors.AsType[*httpError](err)
		switch {
		case isOwn:
			told = own
		case errors.Is(err, access.ErrNotBegun):
			told = &httpError{status: http.StatusBadRequest, message: "This sign-in was not begun in this browser, or is over"}
		case errors.Is(err, access.ErrDenied):
			told = &httpError{status: http.StatusForbidden, message: "Sign-in was denied by " + s.SignIn.At.Issuer()}
		case isRefused:
			told = &httpError{status: http.StatusForbidden, message: "You signed in at " + s.SignIn.At.Issuer() + ", but this server does not accept its token"}
			err = refused
		case isDown:
			told = &httpError{status: http.StatusServiceUnavailable, message: s.SignIn.At.Issuer() + " does not answer"}
			err = down
		}
		s.Log.Info("sign-in failed", "request_id", w.Header().Get(requestIDHeader), "status", told.status, "err", err)
		showPage(w, told.status, loginPageData{Title: "You are not signed in", Text: told.message + ".", Link: "/", LinkText: "Try again"})
		return nil
	})
}

// callbackAddress returns the URL to which the issuer redirects browsers. The Host header of a request is trusted on
// the same machine only.
func (s *Server) callbackAddress(r *http.Request) (string, error) {
	switch {
	case s.PublicURL != nil:
		return strings.TrimRight(s.PublicURL.String(), "/") + callbackPath, nil
	case loopback.Is(r.Host):
		return "http://" + r.Host + callbackPath, nil
	}
	return "", &httpError{status: http.StatusBadRequest, message: "The server does not know its public URL: start it with --public_url"}
}

// returnTo returns a path of the UI, or the first screen if address is not one.
func returnTo(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || u.User != nil || !strings.HasPrefix(u.Path, "/ui/") {
		return "/"
	}
	return u.RequestURI()
}

// setCookie sets a cookie that scripts cannot read; a negative life deletes it.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, name, value string, site http.SameSite, life int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is secure wherever the server is
		Name: s.cookieName(r, name), Value: value, Path: "/", MaxAge: life, HttpOnly: true, SameSite: site, Secure: s.overTLS(r),
	})
}

// cookieName returns the name of a cookie. Over TLS, its prefix keeps other hosts of the domain from setting it.
func (s *Server) cookieName(r *http.Request, name string) string {
	if s.overTLS(r) {
		return "__Host-" + name
	}
	return name
}

// overTLS reports whether the browser seems to reach the server over TLS. A client that forges the header harms only
// itself.
func (s *Server) overTLS(r *http.Request) bool {
	return r.TLS != nil || s.PublicURL != nil && s.PublicURL.Scheme == "https" || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
