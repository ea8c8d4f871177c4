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

// SignIn is how users of the developer UI say who they are. Their token is kept
// in a cookie that no script can read and no other site can have sent; requests
// of the UI's own pages may bring it in place of the Authorization header.
type SignIn struct {
	// Takes says what a user may type in: TakesKey or TakesToken. Empty means that
	// nobody signs in here.
	Takes string
	// At is where users can sign in, instead; it may be nil.
	At *access.Client
	// Attempts seals the sign-ins that are under way at At, which browsers keep.
	// All servers that a browser may come back to need the same keys.
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
	// largestCookie is what browsers keep at least of one.
	largestCookie = 3800
	// largestSignIn is the largest body with a token: anybody can send one.
	largestSignIn = 32 << 10
)

// signInRoutes are those with which users of the UI sign in. They are only there
// when the UI is.
func (s *Server) signInRoutes() []route {
	return []route{
		{"GET", callerPath, unstored(s.aboutCaller)},
		{"GET", signInPath, s.atIssuer(s.beginSignIn)},
		{"GET", callbackPath, s.atIssuer(s.finishSignIn)},
		{"POST", signInPath, unstored(s.takeToken)},
		{"POST", signOutPath, unstored(s.signOut)},
	}
}

// unstored is a route whose answers nobody keeps.
func unstored(route func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Cache-Control", "no-store")
		return route(w, r)
	}
}

// identify tells who makes a request: by its Authorization header or, for pages
// of our own, by the cookie.
func (s *Server) identify(r *http.Request) (*access.Caller, error) {
	if token := s.signedIn(r); token != "" {
		r = withToken(r, token)
	}
	return s.Gate(r)
}

// signedIn is the token in the cookie of a request, "" for one that does not
// count.
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

// ownPage reports whether a browser makes a request for a page of this very
// server, or for its user alone. Other sites, neighbours on the same domain or
// port, and even those in AllowOrigins, have to bring a token of their own.
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
	case "": // without TLS, browsers do not say
		return safe || origin != ""
	}
	return false
}

// aboutCaller tells the UI who its user is, and how they could sign in. It is for
// everybody, and says nothing of others.
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
	User      string  `json:"user,omitempty"`
	AnyUser   bool    `json:"anyUser"`
	Developer bool    `json:"developer"`
	Expires   float64 `json:"expires,omitempty"`
	SignedIn  bool    `json:"signedIn"`
}

// viewOf is what there is to know about a caller; nil may do everything.
func viewOf(c *access.Caller) *callerView {
	view := &callerView{AnyUser: c.May(access.Users), Developer: c.May(access.Dev)}
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

// takeToken signs a user in who has typed in a key or a token.
func (s *Server) takeToken(w http.ResponseWriter, r *http.Request) error {
	if s.SignIn.Takes == "" {
		return &httpError{status: http.StatusNotFound, message: "Nobody signs in here"}
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
	caller, err := s.welcome(w, r, token)
	if _, broken := errors.AsType[*httpError](err); broken {
		return err
	}
	if err != nil {
		return s.unknown(w, r, err)
	}
	return s.showCaller(w, viewOf(caller), true)
}

var errForeignPage = &httpError{status: http.StatusForbidden, message: "Forbidden: only pages of this server may do that"}

// welcome checks a token, and has the browser keep it as long as it counts.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request, token string) (*access.Caller, error) {
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

// signOut makes a browser forget who its user is.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	if !s.ownPage(r) {
		return errForeignPage
	}
	s.setCookie(w, r, callerCookie, "", http.SameSiteStrictMode, -1)
	return s.showCaller(w, nil, false)
}

// beginSignIn leads a browser to the issuer.
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
	// The issuer is another site, and sends the browser back: it cannot be strict.
	s.setCookie(w, r, attemptCookie, string(sealed), http.SameSiteLaxMode, int(attemptLife.Seconds()))
	sendTo(w, r, address)
	return nil
}

// finishSignIn is where a browser comes back from the issuer. Whatever comes of
// it, the attempt is over.
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
	if _, err := s.welcome(w, r, token); err != nil {
		return err
	}
	sendTo(w, r, returnTo(attempt.Return))
	return nil
}

// sealedAttempt is a sign-in that is under way, as a browser keeps it.
type sealedAttempt struct {
	access.Attempt
	Until int64 `json:"u"` // in seconds since 1970
}

// attempt is the sign-in that a browser comes back from to a callback; an empty
// one if it was not begun on a server with the same keys, or is too old.
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

// atIssuer is a page of a sign-in at the issuer, with errors for people.
func (s *Server) atIssuer(page func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return unstored(func(w http.ResponseWriter, r *http.Request) error {
		if s.SignIn.At == nil {
			return &httpError{status: http.StatusNotFound, message: "Nobody signs in here"}
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
			told = &httpError{status: http.StatusForbidden, message: "You were not let in by " + s.SignIn.At.Issuer()}
		case isRefused:
			told = &httpError{status: http.StatusForbidden, message: "You are known to " + s.SignIn.At.Issuer() + ", but its answer does not count here"}
			err = refused
		case isDown:
			told = &httpError{status: http.StatusServiceUnavailable, message: s.SignIn.At.Issuer() + " does not answer"}
			err = down
		}
		s.Log.Info("a user could not sign in", "request_id", w.Header().Get(requestIDHeader), "status", told.status, "reason", err.Error())
		showPage(w, told.status, loginPageData{Title: "You are not signed in", Text: told.message + ".", Link: "/", LinkText: "Try again"})
		return nil
	})
}

// callbackAddress is where the issuer sends browsers back to. What a request says
// about it counts on the same machine only.
func (s *Server) callbackAddress(r *http.Request) (string, error) {
	switch {
	case s.PublicURL != nil:
		return strings.TrimRight(s.PublicURL.String(), "/") + callbackPath, nil
	case loopback.Is(r.Host):
		return "http://" + r.Host + callbackPath, nil
	}
	return "", &httpError{status: http.StatusBadRequest, message: "The server does not know under which address its users reach it: it has to be started with --public_url"}
}

// returnTo is a screen of the UI; the first one, if it is none.
func returnTo(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || u.User != nil || !strings.HasPrefix(u.Path, "/ui/") {
		return "/"
	}
	return u.RequestURI()
}

// setCookie has the browser keep something that pages cannot read; a negative
// life makes it forget it.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, name, value string, site http.SameSite, life int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is secure wherever the server is
		Name: s.cookieName(r, name), Value: value, Path: "/", MaxAge: life, HttpOnly: true, SameSite: site, Secure: s.overTLS(r),
	})
}

// cookieName is the name of a cookie. With TLS, its prefix keeps other hosts of
// the domain from setting it.
func (s *Server) cookieName(r *http.Request, name string) string {
	if s.overTLS(r) {
		return "__Host-" + name
	}
	return name
}

// overTLS reports whether the browser reaches the server over TLS, as far as can
// be seen. Who pretends it does so to themselves.
func (s *Server) overTLS(r *http.Request) bool {
	return r.TLS != nil || s.PublicURL != nil && s.PublicURL.Scheme == "https" || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
