package provider

import (
	"context"
	"embed"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

//go:embed login.html
var files embed.FS

var page = template.Must(template.ParseFS(files, "login.html"))

// autoLogin is the key of the query parameter auto_login in a context.
type autoLogin struct{}

// authorize is where users come first. It passes on who wants to be logged in
// without being asked.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	if user := r.Form.Get("auto_login"); goodName(user) {
		r = r.WithContext(context.WithValue(r.Context(), autoLogin{}, user))
	}
	p.protocol.ServeHTTP(w, r)
}

// showLogin shows the page where users say who they are and whether they agree.
func (p *Provider) showLogin(w http.ResponseWriter, r *http.Request) {
	request, ok := p.pending(w, r)
	if !ok {
		return
	}
	if goodName(request.auto) {
		p.decide(w, r, request, request.auto, true)
		return
	}
	p.show(w, request, "", http.StatusOK)
}

// takeLogin takes what was filled in.
func (p *Provider) takeLogin(w http.ResponseWriter, r *http.Request) {
	request, ok := p.pending(w, r)
	if !ok {
		return
	}
	user, allow := strings.TrimSpace(r.PostForm.Get("user")), r.PostForm.Get("decision") == "allow"
	if allow && !goodName(user) {
		p.show(w, request, "Please enter a name; it may not contain a colon.", http.StatusUnprocessableEntity)
		return
	}
	p.decide(w, r, request, user, allow)
}

// pending returns the authorization that a page is about.
func (p *Provider) pending(w http.ResponseWriter, r *http.Request) (*authRequest, bool) {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	request, err := p.store.request(r.Form.Get("id"))
	if err != nil {
		http.Error(w, "This sign-in is over or has expired. Please go back to the application and start again.", http.StatusBadRequest)
		return nil, false
	}
	return request.copy(), true
}

// show writes the page.
func (p *Provider) show(w http.ResponseWriter, request *authRequest, problem string, status int) {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	w.WriteHeader(status)
	_ = page.Execute(w, map[string]any{ // a client that is gone cannot be told
		"ID": request.id, "Client": request.ClientID, "Scopes": request.Scopes, "Hint": request.LoginHint,
		"Problem": problem, "Action": LoginPath,
	})
}

// decide sends a user back, with a code or with the word that they said no.
func (p *Provider) decide(w http.ResponseWriter, r *http.Request, request *authRequest, user string, allow bool) {
	p.store.mu.Lock()
	stored, err := p.store.request(request.id)
	allow = allow && !p.store.deny && err == nil
	if allow {
		stored.subject, stored.at = user, p.store.now()
	} else {
		delete(p.store.requests, request.id)
		p.store.counts.Denials++
	}
	p.store.mu.Unlock()
	if !allow {
		op.AuthRequestError(w, r, request, oidc.ErrAccessDenied(), p.protocol)
		return
	}
	http.Redirect(w, r, p.issuer+AuthorizePath+"/callback?id="+request.id, http.StatusSeeOther) //nolint:gosec // to ourselves
}

// goodName reports whether a user name is valid. The library puts names after a colon.
func goodName(user string) bool {
	return user != "" && len(user) <= 200 && !slices.ContainsFunc([]rune(user), func(r rune) bool {
		return r == ':' || unicode.IsControl(r)
	})
}
