// Package agentcore serves what the runtime of Amazon Bedrock AgentCore calls in a
// container: the invocations of the protocols HTTP and AG-UI, the endpoints of MCP and
// A2A, and the health check. The runtime names the session and the user in headers.
package agentcore

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
)

// Headers of the runtime.
const (
	sessionHeader = "X-Amzn-Bedrock-AgentCore-Runtime-Session-Id"
	userHeader    = "X-Amzn-Bedrock-AgentCore-Runtime-User-Id"
)

// New creates the faces of the platform. Those of other protocols are there if these are
// served.
func New(host face.Host, served []*face.Face) []*face.Face {
	h := &handler{Host: host, status: healthy, since: time.Now()}
	list := []*face.Face{{
		Name: "agentcore", Title: "Amazon Bedrock AgentCore", Path: "/invocations",
		Routes: []face.Route{
			{Method: "GET", Path: "/ping", Public: true, Handler: h.ping},
			{Method: "POST", Path: "/invocations", Scope: access.Run, Handler: h.hosted(h.invoke)},
		},
	}}
	for _, f := range served {
		var path string
		switch f.Name {
		case "agui":
			h.agui = handlerOf(f)
			continue
		case "mcp":
			path = "/mcp"
		case "a2a":
			path = "/{$}"
		default:
			continue
		}
		list = append(list, &face.Face{
			Name: "agentcore-" + f.Name, Title: f.Title, Path: path, Fail: f.Fail,
			Routes: []face.Route{{Method: "POST", Path: path, Scope: access.Run, Handler: h.hosted(handlerOf(f))}},
		})
	}
	return list
}

type handlerFunc = func(http.ResponseWriter, *http.Request) error

// handlerOf returns what starts runs in a face.
func handlerOf(f *face.Face) handlerFunc {
	i := slices.IndexFunc(f.Routes, func(r face.Route) bool { return r.Method == http.MethodPost && r.Path == f.Path })
	return f.Routes[i].Handler
}

type handler struct {
	face.Host
	agui handlerFunc // nil if it is not served

	mu     sync.Mutex
	status string
	since  time.Time
}

// The states of a server. The runtime stops a container that has been Healthy for some
// time without a request, and lets one that is HealthyBusy live.
const (
	healthy = "Healthy"
	busy    = "HealthyBusy"
)

// ping tells whether the server works on runs, and since when.
func (h *handler) ping(w http.ResponseWriter, _ *http.Request) error {
	status := healthy
	if h.Engine().Running() > 0 {
		status = busy
	}
	h.mu.Lock()
	if status != h.status {
		h.status, h.since = status, time.Now()
	}
	since := h.since
	h.mu.Unlock()
	return respond(w, struct {
		Status string `json:"status"`
		Since  int64  `json:"time_of_last_update"`
	}{status, since.Unix()})
}

// hosted gives a request the application, and the user that the runtime names.
func (h *handler) hosted(handle handlerFunc) handlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		app := h.MainApp()
		if app == "" {
			return &face.Problem{Status: http.StatusNotFound, Message: "The server has several applications: choose one with --a2a_app"}
		}
		if err := h.CheckRate(r, app); err != nil {
			return err
		}
		r.SetPathValue("app", app)
		if r.Header.Get("Content-Type") == "application/octet-stream" { // what SDKs of AWS send by default
			r.Header.Set("Content-Type", "application/json")
		}
		if user := r.Header.Get(userHeader); user != "" {
			r.Header.Set(face.UserHeader, user)
		}
		return handle(w, r)
	}
}

// again returns the request with a body that was read before.
func again(r *http.Request, doc []byte) *http.Request {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(doc)), int64(len(doc))
	r.Header.Del("Content-Encoding")
	return r
}

func respond(w http.ResponseWriter, value any) error {
	doc, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc) // a client that has disconnected cannot be told
	return nil
}
