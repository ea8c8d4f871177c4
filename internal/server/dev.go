package server

import (
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
		{"GET", "/dev/apps/{app}/users/{user}/sessions", s.listOverviews},

		{"GET", "/dev/apps/{app}/users/{user}/tools", s.listTools},
		{"POST", "/dev/apps/{app}/users/{user}/tools/call", s.callTool},

		{"GET", "/dev/apps/{app}/users/{user}/sessions/{session}/runs/{run}/recording", s.runRecording},
		{"POST", "/dev/apps/{app}/users/{user}/sessions/{session}/runs/{run}/replay", s.replayRun},

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

// recentRuns lists the runs of a user's newest sessions that have any, newest first. ?status= selects runs by status and may be
// repeated.
func (s *Server) recentRuns(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	all, err := s.Engine.RecentRuns(r.Context(), owner.App, owner.User, recentSessions, recentOfEach)
	if err == nil && len(all) == 0 {
		err = s.reachable(r.Context(), owner)
	}
	if err != nil {
		return err
	}
	if wanted := r.URL.Query()["status"]; len(wanted) > 0 {
		all = slices.DeleteFunc(all, func(row *session.Run) bool { return !slices.Contains(wanted, string(row.Status)) })
	}
	writeJSON(w, http.StatusOK, document.Array(nil, all, document.Run))
	return nil
}
