package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/session"
)

// Headers of Foundry: the id that the response must have, the user in version 2.0.0 of
// the protocol, and in version 1.0.0.
const (
	responseHeader  = "X-Agent-Response-Id"
	userHeader      = "X-Agent-User-Id"
	isolationHeader = "X-Agent-User-Isolation-Key"
)

// NewFoundry creates the face that Microsoft Foundry calls in the container of a hosted
// agent: Responses without /v1, of the main application.
func NewFoundry(host face.Host, _ []*face.Face) []*face.Face {
	h := handler{Host: host, hosted: true}
	const one = "/responses/{id}"
	return []*face.Face{{
		Name: "foundry", Title: "Microsoft Foundry", Path: "/responses", Fail: fail,
		Routes: []face.Route{
			{Method: "GET", Path: "/readiness", Public: true, Handler: h.ready},
			{Method: "POST", Path: "/responses", Scope: access.Run, Handler: hosted(h.create)},
			{Method: "GET", Path: one, Scope: access.Read, Handler: hosted(h.get)},
			{Method: "DELETE", Path: one, Scope: access.Run, Handler: hosted(h.delete)},
			{Method: "POST", Path: one + "/cancel", Scope: access.Run, Handler: hosted(h.cancel)},
			{Method: "GET", Path: one + "/input_items", Scope: access.Read, Handler: hosted(h.inputItems)},
		},
	}}
}

// hosted gives a request the user that the platform names.
func hosted(handle func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if user := cmp.Or(r.Header.Get(userHeader), r.Header.Get(isolationHeader)); user != "" {
			r.Header.Set(face.UserHeader, user)
		}
		return handle(w, r)
	}
}

// ready tells whether runs can be started.
func (h handler) ready(w http.ResponseWriter, r *http.Request) error {
	err := h.Engine().Ready(r.Context())
	if _, partial := errors.AsType[*session.PartialError](err); err != nil && !partial { // the log has the reason
		return &face.Problem{Status: http.StatusServiceUnavailable, Message: "The server cannot start runs now"}
	}
	return answer(w, []byte(`{"status":"ok"}`))
}

// hostedApp returns the one application.
func (h handler) hostedApp(r *http.Request) (string, error) {
	app := h.MainApp()
	if app == "" {
		return "", &face.Problem{Status: http.StatusNotFound, Message: "The server has several applications: choose one with --a2a_app"}
	}
	return app, h.CheckRate(r, app)
}

// chosenID returns the id that the platform has chosen for a response; empty if it has
// not.
func (h handler) chosenID(r *http.Request) string {
	if !h.hosted {
		return ""
	}
	return strings.TrimSpace(r.Header.Get(responseHeader))
}

// How many sessions of a user, and runs in each, are searched for a response whose id
// does not name them.
const (
	searchedSessions = 100
	searchedRuns     = 20
)

// locate returns the session and the run of a response. The session is one of the user
// who asks.
func (h handler) locate(ctx context.Context, id, user string) (session.Key, string, error) {
	key, run, err := parseID(id, user)
	if err == nil || !h.hosted || session.CheckIdentifier("response id", id) != nil {
		return key, run, err
	}
	rows, failed := h.Engine().RecentRuns(ctx, h.MainApp(), user, searchedSessions, searchedRuns)
	if failed != nil {
		return key, "", failed
	}
	for _, row := range rows {
		if row.ID == runID(row.Key, id) {
			return row.Key, row.ID, nil
		}
	}
	return key, "", err
}
