package server

import (
	"net/http"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/sharelink"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// The lifetime of a link, in seconds.
const (
	defaultShareLife = 7 * 24 * 3600
	minShareLife     = 60
	maxShareLife     = 365 * 24 * 3600
)

// shareRoutes are the routes of links to a moment of a session. They come with the UI, which shows what they lead to.
func (s *Server) shareRoutes() []route {
	const shares = "/apps/{app}/users/{user}/sessions/{session}/shares"
	return []route{
		{"GET", shares, s.listShares},
		{"POST", shares, s.createShare},
		{"DELETE", shares + "/{share}", s.revokeShare},
		{"GET", sharedPath, s.sharedPage},
		{"GET", sharedPath + "/conversation", s.sharedConversation},
		{"GET", sharedPath + "/files/{file}", s.sharedFile},
	}
}

// shareView is a link as its owner sees it.
type shareView struct {
	ID           string  `json:"id"`
	URL          string  `json:"url,omitempty"` // only when it is created
	AtEventID    string  `json:"atEventId"`
	IncludeTools bool    `json:"includeTools"`
	CreateTime   float64 `json:"createTime"`
	ExpireTime   float64 `json:"expireTime"`
}

func viewOfShare(l *sharelink.Link) shareView {
	return shareView{
		ID: l.ID, AtEventID: l.Event, IncludeTools: l.Tools, CreateTime: event.Seconds(l.Created), ExpireTime: event.Seconds(l.Expires),
	}
}

// createShare makes a link to a session as it is now, or as it was at an event.
func (s *Server) createShare(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	doc, err := s.body(w, r)
	if err != nil {
		return err
	}
	link, life := sharelink.Link{Key: key}, int64(defaultShareLife)
	if doc != nil {
		err = wire.Decode(doc, func(in *wire.Reader) error {
			return in.Object(func(name string) error {
				switch name {
				case "atEventId":
					return in.ID(&link.Event)
				case "includeTools":
					return in.Bool(&link.Tools)
				case "expiresIn":
					if err := in.Int(&life); err != nil {
						return err
					}
					if life < minShareLife || life > maxShareLife {
						return in.Errorf("value_error", "must be a number of seconds from %d to %d", minShareLife, maxShareLife)
					}
					return nil
				}
				return in.Skip()
			})
		})
	}
	if err != nil {
		return err
	}
	found, err := s.Store.Get(r.Context(), key, session.Read{})
	if err != nil {
		return err
	}
	entries := found.Seen()
	at := len(entries) - 1
	if link.Event != "" {
		at = slices.IndexFunc(entries, func(e *session.Entry) bool {
			ev, err := e.Decode()
			return err == nil && ev.ID == link.Event
		})
	}
	switch {
	case at < 0 && link.Event != "":
		return &httpError{status: http.StatusUnprocessableEntity, message: "The session has no event with the id in atEventId"}
	case at < 0:
		return &httpError{status: http.StatusUnprocessableEntity, message: "The session has no events to share"}
	}
	last, err := entries[at].Decode()
	if err != nil {
		return err
	}
	link.Seq, link.Event = entries[at].Seq, last.ID
	token, made, err := s.shares.Create(r.Context(), link, time.Duration(life)*time.Second)
	if err != nil {
		return err
	}
	view := viewOfShare(made)
	view.URL = faceHost{s}.BaseURL(r) + sharedPrefix + token
	w.Header().Set("Cache-Control", "no-store")
	return writeStatus(w, http.StatusCreated, view)
}

// listShares answers with the links to a session that count, without their tokens.
func (s *Server) listShares(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	if _, err := s.Store.Get(r.Context(), key, session.Read{NoEvents: true}); err != nil {
		return err
	}
	links, err := s.shares.List(r.Context(), key)
	if err != nil {
		return err
	}
	list := make([]shareView, len(links))
	for i, l := range links {
		list[i] = viewOfShare(l)
	}
	return answer(w, list)
}

// revokeShare ends a link.
func (s *Server) revokeShare(w http.ResponseWriter, r *http.Request) error {
	key, err := pathKey(r)
	if err != nil {
		return err
	}
	id := r.PathValue("share")
	if err := session.CheckIdentifier("share id", id); err != nil {
		return err
	}
	if _, err := s.Store.Get(r.Context(), key, session.Read{NoEvents: true}); err != nil {
		return err
	}
	if err := s.shares.Revoke(r.Context(), key, id); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}
