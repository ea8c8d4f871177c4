package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/memory"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// maxMemory is the largest number of characters of a memory that is edited.
const maxMemory = 100_000

// memoryOf is what is remembered of a message.
type memoryOf struct {
	ID        string          `json:"id"`
	SessionID string          `json:"sessionId,omitempty"`
	EventID   string          `json:"eventId"`
	Author    string          `json:"author"`
	Timestamp float64         `json:"timestamp"`
	Content   json.RawMessage `json:"content"`
}

// listMemory lists what is remembered of a user, or those texts that have all words of ?q=.
func (s *Server) listMemory(w http.ResponseWriter, r *http.Request) error {
	owner, err := s.memoryOwner(r)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	page, err := pageOf(query)
	if err != nil {
		return err
	}
	if page.Size == 0 {
		page.Size = defaultPage
	}
	wanted := query.Get("q")
	if !isText(wanted) {
		return badParameter("query", "q", "must be text")
	}
	list, next, err := s.Store.MemoryEditor.ListMemories(r.Context(), owner.App, owner.User, memory.Words(wanted), page)
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	out := make([]memoryOf, len(list))
	for i, one := range list {
		out[i] = memoryOf{strconv.FormatInt(one.ID, 10), one.Session, one.Event, one.Author, event.Seconds(one.Time), one.Content}
	}
	return answer(w, out)
}

// editMemory replaces the text of a memory.
func (s *Server) editMemory(w http.ResponseWriter, r *http.Request) error {
	owner, err := s.memoryOwner(r)
	if err != nil {
		return err
	}
	id, err := memoryID(r)
	if err != nil {
		return err
	}
	doc, err := s.required(w, r)
	if err != nil {
		return err
	}
	var text string
	err = wire.Decode(doc, func(in *wire.Reader) error {
		return in.Object(func(name string) error {
			if name != "text" {
				return in.Skip()
			}
			if err := in.String(&text); err != nil {
				return err
			}
			if strings.TrimSpace(text) == "" || utf8.RuneCountInString(text) > maxMemory {
				return in.Errorf("value_error", "must have between 1 and %d characters; to remove a memory, delete it", maxMemory)
			}
			return nil
		})
	})
	if err == nil && text == "" {
		err = invalid(wire.Missing("text"))
	}
	if err != nil {
		return err
	}
	content, words, err := memory.Text(text)
	if err != nil {
		return err
	}
	if err := s.Store.MemoryEditor.EditMemory(r.Context(), owner.App, owner.User, id, content, words); err != nil {
		return noMemory(r, err)
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}

// deleteMemory deletes one memory.
func (s *Server) deleteMemory(w http.ResponseWriter, r *http.Request) error {
	owner, err := s.memoryOwner(r)
	if err != nil {
		return err
	}
	id, err := memoryID(r)
	if err != nil {
		return err
	}
	if err := s.Store.MemoryEditor.DeleteMemory(r.Context(), owner.App, owner.User, id); err != nil {
		return noMemory(r, err)
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}

// memoryOwner returns the user that the path names, of an application that exists or has left something.
func (s *Server) memoryOwner(r *http.Request) (session.Key, error) {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	err := key.CheckOwner()
	if err == nil {
		err = s.reachable(r.Context(), key)
	}
	if err == nil && s.Store.MemoryEditor == nil {
		err = &httpError{status: http.StatusNotImplemented, message: "The store of this server cannot list memories"}
	}
	return key, err
}

func memoryID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("memory"), 10, 64)
	if err != nil {
		return 0, memoryNotFound(r)
	}
	return id, nil
}

func noMemory(r *http.Request, err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return memoryNotFound(r)
	}
	return err
}

func memoryNotFound(r *http.Request) error {
	return &httpError{status: http.StatusNotFound, message: "Memory not found: " + r.PathValue("memory")}
}

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
