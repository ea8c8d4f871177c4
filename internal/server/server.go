// Package server speaks HTTP: the routes of the contract, reading requests and
// writing answers, and nothing about agents beyond what it is told.
package server

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// DefaultMaxBody is the largest request body that is read.
const DefaultMaxBody = 32 << 20

// Options of a Server.
type Options struct {
	Engine *run.Engine
	Store  session.Store
	Apps   Apps
	Log    *slog.Logger
	// Artifacts keeps files; nil if there can be none.
	Artifacts *artifact.Store
	// MaxArtifact is the largest file in bytes that is taken as it is; 0 for
	// DefaultMaxArtifact.
	MaxArtifact int64
	// SaveInputFiles keeps files in messages as artifacts, when the request
	// does not say.
	SaveInputFiles bool
	// Logins are the credentials of users.
	Logins *broker.Broker
	// PublicURL is where users reach the server; with it, they can log in with
	// its help. It may be nil.
	PublicURL *url.URL
	// AllowOrigins are the web origins, beside the server's own, whose pages
	// may call it. A * in one stands for any text.
	AllowOrigins []string
	// LoopbackOnly refuses requests that were sent to another host name, so
	// that a web page cannot reach the server under a name of its own.
	LoopbackOnly bool
	// AllowHosts are the host names that requests may be sent to; empty for any.
	// A *. at the beginning of one stands for any name below.
	AllowHosts []string
	// Gate tells who calls; nil lets everybody do everything.
	Gate access.Gate
	// RequestsPerMinute is how often a caller may come, for each application; 0
	// for no limit. It needs a Gate.
	RequestsPerMinute int
	// MaxBody is the largest request body in bytes; 0 for DefaultMaxBody.
	MaxBody int64
	// Concurrency is what a run does that finds its session busy, when its
	// request does not say; empty means session.Enqueue.
	Concurrency session.Policy
	// OnDisconnect is what becomes of a run whose client goes away: "continue"
	// (or empty) or "cancel".
	OnDisconnect string
	// Version is what /version says.
	Version string
	// Observer hears of requests; nil if nobody wants to know.
	Observer Observer
	// Metrics answers with what is counted.
	Metrics http.Handler
	// Traces are shown to developers, where the UI is; nil for none.
	Traces Traces
	// Evals keeps and runs evaluation sets. It is needed where the UI is.
	Evals *eval.Service
	// UI serves the developer UI; nil for none, and for no endpoints that only
	// developers need. SignIn is how its users say who they are.
	UI     http.Handler
	SignIn SignIn
}

// Apps are the applications that are served.
type Apps interface {
	// Names are the names of all applications, sorted.
	Names() []string
	// Agent is the root agent of an application. It fails with
	// run.ErrUnknownApp, or with a *run.AppError.
	Agent(app string) (*agent.Agent, error)
	// Language is what an application is written in.
	Language(app string) string
	// Dir is the directory that an application is in; empty for one that is a
	// part of the program.
	Dir(app string) string
}

// Server answers requests.
type Server struct {
	Options
	mux     *http.ServeMux
	handler http.Handler
	rate    *access.Rate // nil for no limit
	spools  spools
	refused refusedOrigins
}

// New makes a server.
func New(o Options) *Server {
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxArtifact == 0 {
		o.MaxArtifact = DefaultMaxArtifact
	}
	s := &Server{Options: o, mux: http.NewServeMux()}
	if o.RequestsPerMinute > 0 {
		s.rate = access.NewRate(o.RequestsPerMinute)
	}
	for _, r := range slices.Concat(s.routes(), s.nested()) {
		s.mux.Handle(r.method+" "+r.path, s.handle(r.handler))
	}
	if o.UI != nil {
		for _, path := range []string{"/{$}", "/ui/", "/dev-ui/", "/docs/guide/"} {
			s.mux.Handle("GET "+path, o.UI)
		}
	}
	s.mux.Handle("/", s.handle(s.notFound))
	s.handler = s.middleware(s.mux)
	return s
}

type route struct {
	method, path string
	handler      func(http.ResponseWriter, *http.Request) error
}

// routes are those of the contract.
func (s *Server) routes() []route {
	if s.UI == nil {
		return s.clientRoutes()
	}
	return slices.Concat(s.clientRoutes(), s.devRoutes(), s.signInRoutes())
}

func (s *Server) clientRoutes() []route {
	const sessions = "/apps/{app}/users/{user}/sessions"
	return []route{
		{"POST", "/run", s.run},
		{"POST", "/run_sse", s.runSSE},

		{"POST", sessions, s.createSession},
		{"GET", sessions, s.listSessions},
		{"POST", sessions + "/{session}", s.createSessionWithID},
		{"GET", sessions + "/{session}", s.getSession},
		{"PATCH", sessions + "/{session}", s.patchSession},
		{"DELETE", sessions + "/{session}", s.deleteSession},

		{"POST", sessions + "/{session}/runs", s.startRun},
		{"GET", sessions + "/{session}/runs", s.listRuns},
		{"GET", sessions + "/{session}/runs/{run}", s.getRun},
		{"GET", sessions + "/{session}/runs/{run}/events", s.runEvents},
		{"POST", sessions + "/{session}/runs/{run}/cancel", s.cancelRun},

		{"POST", sessions + "/{session}/fork", s.forkSession},
		{"POST", sessions + "/{session}/rewind", s.rewindSession},
		{"GET", sessions + "/{session}/export", s.exportSession},
		{"POST", sessions + "/{session}/import", s.importSession},

		{"GET", sessions + "/{session}/artifacts", s.listArtifacts},
		{"POST", sessions + "/{session}/artifacts", s.saveArtifact},
		{"GET", sessions + "/{session}/artifacts/{name}", s.getArtifact},
		{"PUT", sessions + "/{session}/artifacts/{name}", s.putArtifact},
		{"DELETE", sessions + "/{session}/artifacts/{name}", s.deleteArtifact},
		{"GET", sessions + "/{session}/artifacts/{name}/versions", s.getArtifact},
		{"GET", sessions + "/{session}/artifacts/{name}/versions/metadata", s.getArtifact},
		{"GET", sessions + "/{session}/artifacts/{name}/versions/{version}", s.getArtifact},
		{"GET", sessions + "/{session}/artifacts/{name}/versions/{version}/metadata", s.getArtifact},

		{"PATCH", "/apps/{app}/users/{user}/memory", s.addToMemory},
		{"DELETE", "/apps/{app}/users/{user}/memory", s.clearMemory},

		{"GET", "/apps/{app}/users/{user}/credentials", s.listCredentials},
		{"DELETE", "/apps/{app}/users/{user}/credentials", s.revokeCredentials},
		{"GET", broker.StartPath, s.managed(s.showLogin)},
		{"POST", broker.StartPath, s.managed(s.beginLogin)},
		{"GET", broker.CallbackPath, s.managed(s.loginCallback)},

		{"GET", "/list-apps", s.listApps},
		{"GET", "/apps/{app}/app-info", s.appInfo},

		{"GET", "/usage", s.usage},
		{"GET", "/metrics", s.metrics},

		{"GET", "/health", s.health},
		{"GET", "/healthz", s.health},
		{"GET", "/readyz", s.ready},
		{"GET", "/version", s.version},
		{"GET", "/openapi.json", s.openapi},
		{"GET", "/docs", s.docs},
	}
}

// nested are the routes of artifacts whose names have slashes, which are as those
// of the others.
func (s *Server) nested() []route {
	const name = "/apps/{app}/users/{user}/sessions/{session}/artifacts/{name...}"
	return []route{{"GET", name, s.getArtifact}, {"PUT", name, s.putArtifact}, {"DELETE", name, s.deleteArtifact}}
}

// Routes are the methods and paths that the server answers, as in
// "GET /health".
func (s *Server) Routes() []string {
	var list []string
	for _, r := range s.routes() {
		list = append(list, r.method+" "+r.path)
	}
	return list
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// notFound answers what no route does: 405 when the path is served with other
// methods, else 404.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) error {
	if allow := s.methods(r, r.URL); len(allow) > 0 {
		w.Header()["Allow"] = allow
		return &httpError{status: http.StatusMethodNotAllowed, message: "Method Not Allowed"}
	}
	message := "Not Found"
	if path, ok := strings.CutSuffix(r.URL.Path, "/"); ok {
		// It is not served as if the slash were not there: a client with an empty
		// id would reach the collection.
		without := &url.URL{Path: path, RawPath: strings.TrimSuffix(r.URL.RawPath, "/")}
		if len(s.methods(r, without)) > 0 {
			message = "Not Found: the path must not end with a slash"
		}
	}
	return &httpError{status: http.StatusNotFound, message: message}
}

// methods are those with which a path is served.
func (s *Server) methods(r *http.Request, path *url.URL) []string {
	var list []string
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		other := &http.Request{Method: method, URL: path, Host: r.Host}
		if _, pattern := s.mux.Handler(other); pattern != "/" && pattern != "" {
			list = append(list, method)
		}
	}
	return list
}
