package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/tool"
)

// The pages of a managed login work in a browser without scripts. Package broker documents how a login is bound to the
// browser that began it.

// pageStyle is the style of the pages, which have no other resources.
//
//go:embed page.css
var pageStyle string

// pageMark is the mark of the developer UI.
const pageMark = `<svg width="20" height="20" viewBox="4 4 24 24" fill="currentColor" aria-hidden="true">` +
	`<path d="M8 8h4v16H8zM14 8h10v4H14zM20 14h4v10h-4zM14 20h4v4h-4z"/></svg>`

// loginPageData is the content of a page.
type loginPageData struct {
	Title, Text    string
	Link, LinkText string // the link to continue, if any
	// Only on the page where a login begins:
	Visit                *broker.Visit
	Action, State, Token string
	// Body is HTML, which is escaped already; it may be empty.
	Body string
}

// html renders the page. Every value goes through format, which escapes it. It does not use html/template: that package
// makes the linker keep every method of every type, and the binary a quarter larger.
func (d loginPageData) html() string {
	var page strings.Builder
	format := func(text string, values ...string) {
		escaped := make([]any, len(values))
		for i, value := range values {
			escaped[i] = html.EscapeString(value)
		}
		fmt.Fprintf(&page, text, escaped...)
	}
	format(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><style>`, d.Title)
	page.WriteString(pageStyle)
	format(`</style></head>
<body><header>`+pageMark+` parley</header><main><h1>%s</h1>
`, d.Title)
	if v := d.Visit; v != nil {
		format(`<p>The application <strong><bdi>%s</bdi></strong> asks for access to your account at <strong><bdi>%s</bdi></strong>,
on behalf of its user <strong><bdi>%s</bdi></strong>.</p>
`, v.App, v.Provider, v.User)
		if len(v.Scopes) > 0 {
			format(`<p>It asks for:</p><ul>`)
			for _, scope := range v.Scopes {
				format(`<li><bdi>%s</bdi></li>`, scope)
			}
			format("</ul>\n")
		}
		format(`<p>Continue only if you are that user and started this login yourself. If someone sent you this link, close this page:
they would get access to your account.</p>
<form method="post" action="%s"><input type="hidden" name="state" value="%s"><input type="hidden" name="token" value="%s">
<button type="submit">Continue to <bdi>%s</bdi></button></form>
`, d.Action, d.State, d.Token, v.Provider)
	}
	if d.Text != "" {
		format("<p>%s</p>\n", d.Text)
	}
	page.WriteString(d.Body)
	if d.Link != "" {
		format("<p><a href=\"%s\">%s</a></p>\n", d.Link, d.LinkText)
	}
	format("</main></body></html>\n")
	return page.String()
}

// pagePolicy allows the page's own style and nothing else. It does not set form-action, because some browsers apply it
// to the redirects that follow.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; frame-ancestors 'none'"
}()

func showPage(w http.ResponseWriter, status int, page loginPageData) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	// The URLs of these pages must not leak to other sites, but a form that is sent from here must have an origin.
	if h.Get("Referrer-Policy") == "" {
		h.Set("Referrer-Policy", "same-origin")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, page.html()) // the user may have left
}

// sentence returns the message of an error as a page has it, below a title: clients of the API also read the name of the status.
func (e *httpError) sentence() string {
	text := e.message
	if status, rest, ok := strings.Cut(text, ": "); ok && strings.EqualFold(status, http.StatusText(e.status)) {
		text = rest
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

// failPage shows an error to a user.
func (s *Server) failPage(w http.ResponseWriter, r *http.Request, err error) {
	e := toHTTP(err, subjectOf(r))
	if e.status >= http.StatusInternalServerError && e.cause != nil {
		s.Log.ErrorContext(r.Context(), "login failed", "request_id", w.Header().Get(requestIDHeader), "path", r.URL.Path, "err", e.cause)
	}
	showPage(w, e.status, loginPageData{
		Title: "The login failed",
		Text:  e.sentence() + " Go back to the application and try again from there.",
	})
}

// managed adapts a page of a login to a route.
func (s *Server) managed(page func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.PublicURL == nil {
			return &httpError{status: http.StatusNotFound, message: "Not Found"}
		}
		if err := page(w, r); err != nil {
			s.failPage(w, r, err)
		}
		return nil
	}
}

// showLogin is the page where a login begins. It shows what the provider is asked for. For a client that completes the
// login itself, it redirects to the provider.
func (s *Server) showLogin(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	state := query.Get("state")
	if back := query["redirect_uri"]; len(back) > 0 {
		address, err := s.Logins.SendOn(r.Context(), state, back[len(back)-1])
		if err != nil {
			return err
		}
		sendTo(w, r, address)
		return nil
	}
	visit, err := s.Logins.Visit(r.Context(), state)
	if err != nil {
		return err
	}
	browser := s.browser(r)
	if browser == "" {
		browser = rand.Text()
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is secure wherever the server is
		Name: s.browserCookie(), Value: browser, Path: "/", MaxAge: 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.PublicURL.Scheme == "https",
	})
	showPage(w, http.StatusOK, loginPageData{
		Title: "Log in at " + visit.Provider + "?", Visit: &visit,
		Action: strings.TrimRight(s.PublicURL.EscapedPath(), "/") + broker.StartPath, State: state, Token: formToken(browser, state),
	})
	return nil
}

// beginLogin handles the form with which a user agrees.
func (s *Server) beginLogin(w http.ResponseWriter, r *http.Request) error {
	if origin := r.Header.Get("Origin"); origin != s.PublicURL.Scheme+"://"+s.PublicURL.Host {
		return &httpError{status: http.StatusForbidden, message: "The form was not sent from this server's own page"}
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		return &httpError{status: http.StatusBadRequest, message: "The form cannot be read"}
	}
	browser, state := s.browser(r), r.PostForm.Get("state")
	if browser == "" {
		return &httpError{status: http.StatusForbidden, message: "The browser did not send this server's cookie: allow cookies, and try again"}
	}
	if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(formToken(browser, state))) != 1 {
		return &httpError{status: http.StatusForbidden, message: "The form was not made for this browser"}
	}
	address, err := s.Logins.Begin(r.Context(), state, browser)
	if err != nil {
		return err
	}
	sendTo(w, r, address)
	return nil
}

// loginCallback is the redirect target of a login. The run that waited for the login continues.
func (s *Server) loginCallback(w http.ResponseWriter, r *http.Request) error {
	back, err := s.Logins.Callback(r.Context(), r.URL, s.browser(r))
	if err != nil {
		return err
	}
	_, err = s.Engine.Start(r.Context(), run.Request{Key: back.Key, Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: back.RequestID, Name: tool.CredentialCall, Response: []byte("{}")},
	}}}})
	if err != nil {
		return about(back.Key, err)
	}
	page := loginPageData{Title: "Thank you", Text: "You can close this window and go back to where you came from."}
	if back.Denied {
		page.Title, page.Text = "You did not allow it", "Nothing was shared. You can close this window and go back to where you came from."
	}
	showPage(w, http.StatusOK, page)
	return nil
}

// sendTo redirects a browser to a provider.
func sendTo(w http.ResponseWriter, r *http.Request, address string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, address, http.StatusSeeOther) //nolint:gosec // the address is that of the tool's provider
}

// browserCookie returns the name of the cookie that identifies a browser. Over https, its prefix keeps other hosts of
// the domain from setting it.
func (s *Server) browserCookie() string {
	if s.PublicURL.Scheme == "https" {
		return "__Host-parley_login"
	}
	return "parley_login"
}

// browser returns the value of the browser's cookie, or "".
func (s *Server) browser(r *http.Request) string {
	cookie, err := r.Cookie(s.browserCookie())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// formToken proves that a form was created for a browser. Other sites cannot compute it.
func formToken(browser, state string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "login form %d %s %s", len(browser), browser, state))
	return hex.EncodeToString(sum[:])
}

// isPublic reports whether an origin or a host is that of PublicURL.
func (s *Server) isPublic(origin, host string) bool {
	u := s.PublicURL
	return u != nil && (origin != "" && strings.EqualFold(origin, u.Scheme+"://"+u.Host) || host != "" && strings.EqualFold(host, u.Host))
}
