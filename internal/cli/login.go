package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/loopback"
	"github.com/parley-run/parley/tool"
)

// login is a tool's request that the user log in.
type login struct {
	call     *event.FunctionCall
	provider string // its host
	address  string // where to log in; empty if the credential itself is requested
	state    string // the state that the user returns with
	redirect string // the redirect URI
}

// loginListener receives users who return from a login: at a port of this machine, if a
// browser can reach it, and always as typed text.
type loginListener struct {
	// redirect is the redirect URI that the user has set; if empty, this program
	// chooses one.
	redirect string
	pending  []*login
	// back receives the URLs with which browsers return.
	back     chan string
	server   *http.Server
	listener net.Listener
	base     string // the base URL of the server
}

func newLoginListener(redirect string) *loginListener {
	return &loginListener{redirect: redirect, back: make(chan string)}
}

// take accepts a call that requests a login.
func (d *loginListener) take(ctx context.Context, call *event.FunctionCall) (*login, error) {
	l, err := d.login(ctx, call)
	if err != nil {
		return nil, err
	}
	// A user who is asked for the same login twice needs to log in once.
	d.pending = slices.DeleteFunc(d.pending, func(other *login) bool { return l.state != "" && other.state == l.state })
	d.pending = append(d.pending, l)
	return l, nil
}

// login parses the request of a call, and chooses the redirect URI.
func (d *loginListener) login(ctx context.Context, call *event.FunctionCall) (*login, error) {
	asked, err := tool.AskedConfig(call)
	if err != nil {
		return nil, err
	}
	l := &login{call: call}
	if asked.Exchanged == nil || asked.Exchanged.OAuth2 == nil || asked.Exchanged.OAuth2.AuthURI == "" {
		return l, nil
	}
	address, err := url.Parse(asked.Exchanged.OAuth2.AuthURI)
	if err != nil {
		return nil, errors.New("the authorization URL is invalid")
	}
	query := address.Query()
	l.provider, l.state, l.redirect = address.Host, query.Get("state"), query.Get("redirect_uri")
	if l.redirect == "" {
		l.redirect = d.redirect
	}
	if l.redirect, err = d.listen(ctx, l.redirect); err != nil {
		return nil, err
	}
	query.Set("redirect_uri", l.redirect)
	address.RawQuery = query.Encode()
	l.address = address.String()
	return l, nil
}

// listen starts to listen at redirect, if that is possible. If redirect is empty,
// it chooses one.
func (d *loginListener) listen(ctx context.Context, redirect string) (string, error) {
	if d.server != nil && redirect == "" {
		return d.base + callbackPath, nil
	}
	host, port := "127.0.0.1", "0"
	if redirect != "" {
		u, err := url.Parse(redirect)
		if err != nil || u.Host == "" {
			return "", fmt.Errorf("%q is not a valid redirect URI", redirect)
		}
		if d.server != nil || u.Scheme != "http" || u.Port() == "" || !loopback.Is(u.Hostname()) {
			return redirect, nil // the user pastes the URL
		}
		if port = u.Port(); u.Hostname() != "localhost" {
			host = u.Hostname()
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		if redirect != "" {
			return redirect, nil // another process has the port, perhaps to receive the redirect
		}
		return "", fmt.Errorf("listen for the redirect: %w", err)
	}
	d.listener, d.base = listener, "http://"+listener.Addr().String()
	d.server = &http.Server{
		Handler: http.HandlerFunc(d.handleRedirect), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = d.server.Serve(listener) }()
	if redirect == "" {
		redirect = d.base + callbackPath
	}
	return redirect, nil
}

const callbackPath = "/callback"

// close stops listening. The server may not have begun to serve yet, and would not
// know its listener.
func (d *loginListener) close() {
	if d.server != nil {
		_ = d.server.Close()
		_ = d.listener.Close()
	}
}

// handleRedirect handles the redirect of a browser, and shows its user how to continue.
func (d *loginListener) handleRedirect(w http.ResponseWriter, r *http.Request) {
	text, status := "Go back to the terminal: the conversation continues there. You can close this page.", http.StatusOK
	if !r.URL.Query().Has("state") { // browsers ask for icons, too
		text, status = "Nothing is here.", http.StatusNotFound
	} else {
		select {
		case d.back <- "http://" + r.Host + r.URL.String():
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><title>Parley</title><p>%s</p>\n", html.EscapeString(text))
}

// answer returns the answer to the login whose redirect URL a text is; nil if the
// text is not such a URL.
func (d *loginListener) answer(text string) (*event.Content, error) {
	u, err := url.Parse(text)
	if err != nil || len(d.pending) == 0 || strings.ContainsAny(text, " \t") {
		return nil, nil //nolint:nilerr // it is something to say
	}
	query := u.Query()
	if !query.Has("code") && !query.Has("authorization_code") && !query.Has("error") {
		return nil, nil
	}
	at := slices.IndexFunc(d.pending, func(l *login) bool { return l.state == query.Get("state") })
	if at < 0 {
		return nil, errors.New("this address does not belong to a pending login: paste the one that the browser shows after the latest login")
	}
	l := d.pending[at]
	response, err := json.Marshal(map[string]any{"exchangedAuthCredential": map[string]any{"oauth2": map[string]string{
		"authResponseUri": text, "redirectUri": l.redirect,
	}}})
	if err != nil {
		return nil, err
	}
	return answering(l.call, response), nil
}

// calls returns the calls that wait for a login.
func (d *loginListener) calls() []*event.FunctionCall {
	list := make([]*event.FunctionCall, len(d.pending))
	for i, l := range d.pending {
		list[i] = l.call
	}
	return list
}

// answered removes a login.
func (d *loginListener) answered(id string) {
	d.pending = slices.DeleteFunc(d.pending, func(l *login) bool { return l.call.ID == id })
}

// answering returns the message that answers a call.
func answering(call *event.FunctionCall, response json.RawMessage) *event.Content {
	given := &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: response}
	return &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: given}}}
}

// explain prints what the user has to do.
func (l *login) explain() string {
	if l.address == "" {
		return fmt.Sprintf("The agent asks for a credential, such as an API key. To give it: /answer %s \"the key\"", l.call.ID)
	}
	return "The agent asks you to log in at " + l.provider + ". Open this address in a browser:\n\n  " + l.address + "\n\n" +
		"The conversation continues when you have logged in. If the browser ends on a page\n" +
		"that does not load, paste the address of that page here."
}
