package server

import (
	"errors"
	"html/template"
	"net/http"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/wire"
)

// listCredentials tells which logins are kept for a user, and nothing that is
// secret about them.
func (s *Server) listCredentials(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	list, err := s.Logins.List(r.Context(), owner.App, owner.User)
	if err != nil {
		return err
	}
	out := []byte{'['}
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendCredential(out, &e)
	}
	writeJSON(w, http.StatusOK, append(out, ']'))
	return nil
}

func appendCredential(dst []byte, e *broker.Entry) []byte {
	dst = wire.Quote(append(dst, `{"name":`...), e.Name)
	for _, m := range []struct{ name, value string }{
		{"sessionId", e.Session}, {"credentialKey", e.Key}, {"authType", string(e.Type)}, {"provider", e.Provider},
	} {
		if m.value != "" {
			dst = append(wire.Quote(append(dst, ','), m.name), ':')
			dst = wire.Quote(dst, m.value)
		}
	}
	dst = append(dst, `,"scopes":[`...)
	for i, scope := range e.Scopes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = wire.Quote(dst, scope)
	}
	dst = append(dst, ']')
	if !e.GrantedAt.IsZero() {
		dst = wire.Number(append(dst, `,"grantTime":`...), event.Seconds(e.GrantedAt))
	}
	if !e.ExpiresAt.IsZero() {
		dst = wire.Number(append(dst, `,"expireTime":`...), event.Seconds(e.ExpiresAt))
	}
	dst = wire.Number(append(dst, `,"ageSeconds":`...), e.Age.Seconds())
	return append(dst, '}')
}

// revokeCredentials forgets the logins of a user, or the one that ?name= and
// ?sessionId= tell.
func (s *Server) revokeCredentials(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	query := r.URL.Query()
	list, err := s.Logins.List(r.Context(), owner.App, owner.User)
	if err != nil {
		return err
	}
	for _, e := range list {
		if query.Has("name") && e.Name != query.Get("name") || query.Has("sessionId") && e.Session != query.Get("sessionId") {
			continue
		}
		err := s.Logins.Revoke(r.Context(), owner.App, owner.User, e.Session, e.Name)
		if err != nil && !errors.Is(err, session.ErrNoSecret) {
			return err
		}
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}

// backPage is what a user sees after a login.
var backPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Parley</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:20vh auto;max-width:30rem;padding:0 1rem}</style></head>
<body><h1>{{.Title}}</h1><p>{{.Text}}</p></body></html>
`))

// loginCallback is where users come back to from a login. The run that waited
// for it goes on.
func (s *Server) loginCallback(w http.ResponseWriter, r *http.Request) error {
	if !s.ManagedLogin {
		return &httpError{status: http.StatusNotFound, message: "Not Found"}
	}
	key, id, err := s.Logins.Callback(r.Context(), r.URL)
	if err == nil {
		_, err = s.Engine.Start(r.Context(), run.Request{Key: key, Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
			FunctionResponse: &event.FunctionResponse{ID: id, Name: s.Engine.CredentialCall(), Response: []byte("{}")},
		}}}})
	}
	page := struct{ Title, Text string }{"You are logged in", "You can close this window and go back to where you came from."}
	status := http.StatusOK
	if err != nil {
		e := toHTTP(about(key, err))
		if e.status >= http.StatusInternalServerError && e.cause != nil {
			s.Log.Error("a login could not be completed", "err", e.cause)
		}
		status, page.Title, page.Text = e.status, "The login did not work", e.message
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address of this page has the code in it
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.WriteHeader(status)
	_ = backPage.Execute(w, page) // a user who is gone cannot be told
	return nil
}
