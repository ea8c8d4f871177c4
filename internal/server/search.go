package server

import (
	"net/http"

	"github.com/parley-run/parley/internal/textsearch"
	"github.com/parley-run/parley/session"
)

// foundEvent is an event that a search has found.
type foundEvent struct {
	SessionID string         `json:"sessionId"`
	EventID   string         `json:"eventId"`
	Author    string         `json:"author"`
	Timestamp float64        `json:"timestamp"`
	Snippet   []foundSnippet `json:"snippet"`
}

type foundSnippet struct {
	Text  string `json:"text"`
	Match bool   `json:"match,omitempty"`
}

// searchSize is the size of a page of a search that has none.
const searchSize = 20

// search finds events of a user by what was said in them.
func (s *Server) search(w http.ResponseWriter, r *http.Request) error {
	key := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := key.CheckOwner(); err != nil {
		return err
	}
	query := r.URL.Query()
	page, err := pageOfSize(query, searchSize)
	if err != nil {
		return err
	}
	words := query.Get("q")
	if !isText(words) {
		return badParameter("query", "q", "must be text")
	}
	if _, err := textsearch.Parse(words); err != nil {
		return badParameter("query", "q", err.Error())
	}
	if err := s.reachable(r.Context(), key); err != nil {
		return err
	}
	if s.Store.Searcher == nil {
		return &httpError{status: http.StatusNotImplemented, message: "The session store of this server cannot search in what was said: memory, SQLite and Postgres can."}
	}
	found, next, err := s.Store.Searcher.Search(r.Context(), key.App, key.User, words, page)
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	list := make([]foundEvent, len(found))
	for i, f := range found {
		list[i] = foundEvent{SessionID: f.Session, EventID: f.Event, Author: f.Author, Timestamp: float64(f.Time.UnixMicro()) / 1e6, Snippet: make([]foundSnippet, len(f.Snippet))}
		for j, piece := range f.Snippet {
			list[i].Snippet[j] = foundSnippet(piece)
		}
	}
	return answer(w, list)
}
