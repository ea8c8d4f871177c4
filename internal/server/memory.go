package server

import (
	"net/http"

	"github.com/parley-run/parley/internal/memory"
	"github.com/parley-run/parley/session"
)

// addToMemory adds the session that the body names to the user's memory.
func (s *Server) addToMemory(w http.ResponseWriter, r *http.Request) error {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := key.CheckOwner(); err != nil {
		return err
	}
	if err := s.strings(w, r, map[string]*string{"sessionId": &key.ID}); err != nil {
		return err
	}
	if key.ID == "" {
		return &httpError{status: http.StatusBadRequest, message: "Update memory request is invalid. It needs a sessionId."}
	}
	if err := key.Check(); err != nil {
		return err
	}
	if err := memory.Add(r.Context(), s.Store.Sessions, s.Store.Memories, key); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}

// clearMemory deletes the memory of a user.
func (s *Server) clearMemory(w http.ResponseWriter, r *http.Request) error {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := key.CheckOwner(); err != nil {
		return err
	}
	if err := s.reachable(r.Context(), key); err != nil {
		return err
	}
	if err := s.Store.Forget(r.Context(), key.App, key.User); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}
