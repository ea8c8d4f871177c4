package server

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// devRoutes are the routes for developers. They exist only with the UI.
func (s *Server) devRoutes() []route {
	const eventGraph = "/apps/{app}/users/{user}/sessions/{session}/events/{event}/graph"
	return append([]route{
		{"GET", "/dev/apps/{app}/runs", s.findRuns},
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

// Limits of recentRuns with a store that does not list the runs of all sessions: the number of sessions, and of runs of
// each.
const (
	recentSessions = 100
	recentOfEach   = 20
)

var errNoRunList = &httpError{status: http.StatusNotImplemented, message: "The session store of this server cannot list the runs of all sessions: memory, SQLite and Postgres can."}

// findRuns lists the runs of an application, newest first. ?userId= selects those of a user, and ?status= those with a
// status; it may be repeated.
func (s *Server) findRuns(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	q := session.RunQuery{App: r.PathValue("app")}
	err := session.CheckIdentifier("application name", q.App)
	if err == nil {
		q.User, err = listedUser(r, query.Get("userId")+query.Get("user_id"), "runs")
	}
	if err != nil {
		return err
	}
	if !s.Engine.CanFindRuns() {
		return errNoRunList
	}
	return s.answerRuns(w, r, q, func(context.Context) error {
		if !s.hasApp(q.App) { // those of a removed application can still be read
			return about(session.Key{App: q.App}, run.ErrUnknownApp)
		}
		return nil
	})
}

// recentRuns lists the runs of a user as findRuns does.
func (s *Server) recentRuns(w http.ResponseWriter, r *http.Request) error {
	owner := session.Key{App: r.PathValue("app"), User: r.PathValue("user")}
	if err := owner.CheckOwner(); err != nil {
		return err
	}
	reachable := func(ctx context.Context) error { return s.reachable(ctx, owner) }
	q := session.RunQuery{App: owner.App, User: owner.User}
	if s.Engine.CanFindRuns() {
		return s.answerRuns(w, r, q, reachable)
	}
	all, err := s.Engine.RecentRuns(r.Context(), owner.App, owner.User, recentSessions, recentOfEach)
	if err == nil && len(all) == 0 {
		err = reachable(r.Context())
	}
	if err != nil {
		return err
	}
	q.Statuses = statusesOf(r.URL.Query())
	all = slices.DeleteFunc(all, func(row *session.Run) bool { return !q.Selects(row.Status) })
	writeJSON(w, http.StatusOK, document.Array(nil, all, document.Run))
	return nil
}

// answerRuns answers with a page of runs. none tells what is wrong if there are none.
func (s *Server) answerRuns(w http.ResponseWriter, r *http.Request, q session.RunQuery, none func(context.Context) error) error {
	query := r.URL.Query()
	page, err := pageOf(query)
	if err != nil {
		return err
	}
	page.Size = cmp.Or(page.Size, maxPage)
	q.Statuses = statusesOf(query)
	runs, next, err := s.Engine.FindRuns(r.Context(), q, page)
	if err == nil && len(runs) == 0 {
		err = none(r.Context())
	}
	if err != nil {
		return err
	}
	linkNext(w, r, query, page, next)
	writeJSON(w, http.StatusOK, document.Array(nil, runs, document.Run))
	return nil
}

func statusesOf(query url.Values) (list []session.Status) {
	for _, name := range query["status"] {
		list = append(list, session.Status(name))
	}
	return list
}
