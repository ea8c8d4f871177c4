package server

import (
	"errors"
	"net/http"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/broker"
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
	out := make([]credentialOf, len(list))
	for i := range list {
		out[i] = credentialItem(&list[i])
	}
	return answer(w, out)
}

// credentialOf is the JSON of a login, without its secrets.
type credentialOf struct {
	Name       string          `json:"name"`
	SessionID  string          `json:"sessionId,omitempty"`
	Key        string          `json:"credentialKey,omitempty"`
	Type       credential.Type `json:"authType,omitempty"`
	Provider   string          `json:"provider,omitempty"`
	Scopes     []string        `json:"scopes"`
	GrantTime  float64         `json:"grantTime,omitempty"`
	ExpireTime float64         `json:"expireTime,omitempty"`
	AgeSeconds float64         `json:"ageSeconds"`
}

func credentialItem(e *broker.Entry) credentialOf {
	out := credentialOf{
		Name: e.Name, SessionID: e.Session, Key: e.Key, Type: e.Type, Provider: e.Provider,
		Scopes: append([]string{}, e.Scopes...), AgeSeconds: e.Age.Seconds(),
	}
	if !e.GrantedAt.IsZero() {
		out.GrantTime = event.Seconds(e.GrantedAt)
	}
	if !e.ExpiresAt.IsZero() {
		out.ExpireTime = event.Seconds(e.ExpiresAt)
	}
	return out
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
