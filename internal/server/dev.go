package server

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/session"
)

// devRoutes are the routes for developers. They exist only with the UI.
func (s *Server) devRoutes() []route {
	const eventGraph = "/apps/{app}/users/{user}/sessions/{session}/events/{event}/graph"
	return append([]route{
		{"GET", "/dev/apps/{app}/users/{user}/runs", s.recentRuns},

		{"GET", "/dev/apps/{app}/debug/trace/{event}", s.eventTrace},
		{"GET", "/dev/apps/{app}/debug/trace/session/{session}", s.sessionTrace},
		// Paths of older clients.
		{"GET", "/debug/trace/{event}", s.eventTrace},
		{"GET", "/debug/trace/session/{session}", s.sessionTrace},

		{"GET", "/dev" + eventGraph, s.eventGraph},
		{"GET", eventGraph, s.eventGraph},
		{"GET", "/dev/apps/{app}/graph", s.appGraph},
		{"GET", "/dev/apps/{app}/build_graph", s.structure},
		{"GET", "/dev/apps/{app}/build_graph_image", s.structureGraph},
	}, s.evalRoutes()...)
}

// Limits of recentRuns: the number of sessions, and of runs of each.
const (
	recentSessions = 100
	recentOfEach   = 20
)

// recentRuns lists the runs of a user's newest sessions, newest first. ?status= selects runs by status and may be
// repeated.
func (s *Server) recentRuns(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	list, _, err := s.Store.List(r.Context(), owner.App, owner.User, session.Page{Size: recentSessions})
	if err == nil && len(list) == 0 {
		err = s.reachable(r.Context(), owner)
	}
	if err != nil {
		return err
	}
	wanted := r.URL.Query()["status"]
	var all []*session.Run
	for _, one := range list {
		rows, _, err := s.Engine.Runs(r.Context(), one.Key, session.Page{Size: recentOfEach})
		if err != nil {
			continue // deleted in the meantime
		}
		for _, row := range rows {
			if len(wanted) == 0 || slices.Contains(wanted, string(row.Status)) {
				all = append(all, row)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *session.Run) int { return cmp.Compare(b.Created.UnixNano(), a.Created.UnixNano()) })
	writeJSON(w, http.StatusOK, document.Array(nil, all, document.Run))
	return nil
}
