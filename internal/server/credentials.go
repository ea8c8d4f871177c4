package server

import (
	"errors"
	"net/http"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// listCredentials lists the stored logins of a user, without their secrets.
func (s *Server) listCredentials(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	list, err := s.Logins.List(r.Context(), owner.App, owner.User)
	if err == nil && len(list) == 0 {
		err = s.reachable(r.Context(), owner)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, document.Array(nil, list, appendCredential))
	return nil
}

func appendCredential(dst []byte, e broker.Entry) []byte {
	dst = wire.Quote(append(dst, `{"name":`...), e.Name)
	for _, m := range []struct{ name, value string }{
		{"sessionId", e.Session}, {"credentialKey", e.Key}, {"authType", string(e.Type)}, {"provider", e.Provider},
	} {
		if m.value != "" {
			dst = append(wire.Quote(append(dst, ','), m.name), ':')
			dst = wire.Quote(dst, m.value)
		}
	}
	dst = document.Array(append(dst, `,"scopes":`...), e.Scopes, wire.Quote)
	if !e.GrantedAt.IsZero() {
		dst = wire.Number(append(dst, `,"grantTime":`...), event.Seconds(e.GrantedAt))
	}
	if !e.ExpiresAt.IsZero() {
		dst = wire.Number(append(dst, `,"expireTime":`...), event.Seconds(e.ExpiresAt))
	}
	dst = wire.Number(append(dst, `,"ageSeconds":`...), e.Age.Seconds())
	return append(dst, '}')
}

// revokeCredentials deletes the logins of a user, or the one that ?name= and ?sessionId= identify.
func (s *Server) revokeCredentials(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	query := r.URL.Query()
	list, err := s.Logins.List(r.Context(), owner.App, owner.User)
	if err == nil && len(list) == 0 {
		err = s.reachable(r.Context(), owner)
	}
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
