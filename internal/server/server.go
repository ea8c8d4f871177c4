// Package server implements the HTTP API: the routes of the contract, decoding of requests and encoding of responses.
// It contains no logic of agents.
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
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/inbox"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/peer"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/sharelink"
	"github.com/parley-run/parley/internal/trigger"
	"github.com/parley-run/parley/internal/webhook"
	"github.com/parley-run/parley/session"
)

// DefaultMaxBody is the default size limit of a request body.
const DefaultMaxBody = 32 << 20

// Options are the options of a Server.
type Options struct {
	Engine *run.Engine
	Store  session.Store
	Apps   Apps
	Log    *slog.Logger
	// Version is reported by /version.
	Version string
	// Concurrency is the default policy of a run whose session is busy; empty means session.Enqueue.
	Concurrency session.Policy
	// OnDisconnect is the default policy for a run whose client disconnects: "continue" (or empty) or "cancel".
	OnDisconnect string
	// Prices are those of models. Limits has the budgets that clients are told of.
	Prices *price.Table
	Limits run.Limits

	Network
	Access
	Files
	Services
	Protocols
	Observation
	Developers
}

// Network says which requests are read at all.
type Network struct {
	// PublicURL is the URL of the server for users. It enables managed logins. It may be nil.
	PublicURL *url.URL
	// AllowOrigins are the web origins, in addition to the server's own, whose pages may call it. A * matches any text.
	AllowOrigins []string
	// LoopbackOnly refuses requests to host names other than localhost, which prevents DNS rebinding.
	LoopbackOnly bool
	// AllowHosts are the host names that requests may be sent to; empty allows all. A leading "*." matches any
	// subdomain.
	AllowHosts []string
	// MaxBody is the size limit of a request body in bytes; 0 means DefaultMaxBody.
	MaxBody int64
	// Peer answers the other servers that share the store; nil if they cannot reach this one.
	Peer *peer.Peer
}

// Access says who may do what.
type Access struct {
	// Gate authenticates callers; nil grants every permission to everyone.
	Gate access.Gate
	// Issuers are the URLs of those whose identity tokens the Gate accepts, if any.
	Issuers []string
	// Rate limits the requests of callers; nil means no limit. It requires a Gate. Servers may share one.
	Rate *access.Rate
	// Recall says what those who have created triggers may do now; nil for everything.
	Recall access.Recall
}

// Files are those of users.
type Files struct {
	// Artifacts stores files; nil disables them.
	Artifacts *artifact.Store
	// MaxArtifact is the size limit of an uploaded file in bytes; 0 means DefaultMaxArtifact.
	MaxArtifact int64
	// SaveInputFiles stores files of messages as artifacts. A request can override it.
	SaveInputFiles bool
}

// Services do what goes on outside of requests.
type Services struct {
	// Logins manages the credentials of users.
	Logins *broker.Broker
	// Schedules is nil if the store has none.
	Schedules *schedule.Service
	// Inbox is nil if the store has none.
	Inbox *inbox.Service
	// Triggers start runs for other services; nil for none.
	Triggers *trigger.Service
	// Webhooks is nil if the server sends none.
	Webhooks *webhook.Service
	// Outbox sends notifications for faces; nil for none.
	Outbox *outbox.Outbox
}

// Protocols are those that are served besides the server's own.
type Protocols struct {
	Faces []face.New
	// Platforms are the hosting platforms whose paths are served, too.
	Platforms []face.Platform
	// MainApp is the application that clients of some faces find at the root; empty means the only one, if there is
	// one.
	MainApp string
	// A2AURL is the URL of that application for clients of A2A, if it is another one; it may be empty.
	A2AURL string
}

// Observation is what operators see.
type Observation struct {
	// Observer observes requests; nil disables it.
	Observer Observer
	// Metrics serves the metrics; nil for none.
	Metrics http.Handler
}

// Developers is what only the developer UI and its endpoints use.
type Developers struct {
	// UI serves the developer UI; nil disables it and the endpoints for developers. SignIn authenticates its users.
	UI     http.Handler
	SignIn SignIn
	// Evals stores and runs evaluation sets. It is required with a UI.
	Evals *eval.Service
	// Replays repeats runs.
	Replays Replays
	// Traces are shown to developers; nil for none.
	Traces Traces
}

// Apps provides the applications.
type Apps interface {
	// Names returns the sorted names of all applications.
	Names() []string
	// Agent returns the root agent of an application. It fails with run.ErrUnknownApp or a *run.AppError.
	Agent(app string) (*agent.Agent, error)
	// ReloadError returns why the last change of an application could not be loaded, if the version before it is served.
	ReloadError(app string) error
	// Language returns the language that an application is written in.
	Language(app string) string
	// Dir returns the directory of an application; empty for one that is part of the program.
	Dir(app string) string
}

// Server is the HTTP handler.
type Server struct {
	Options
	mux     *http.ServeMux
	handler http.Handler
	spools  spools
	refused refusedOrigins
	shares  *sharelink.Links
	visits  *access.Rate // of links

	faces     []*face.Face
	hosting   []*face.Face    // of the platforms; clients need not know of them
	faceNeeds map[string]need // by pattern
}

// New creates a server.
func New(o Options) *Server {
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxArtifact == 0 {
		o.MaxArtifact = DefaultMaxArtifact
	}
	s := &Server{Options: o, mux: http.NewServeMux(), shares: sharelink.New(o.Store.Secrets), visits: access.NewRate(maxVisits)}
	for _, r := range slices.Concat(s.routes(), s.nested()) {
		s.mux.Handle(r.method+" "+r.path, s.handle(r.handler))
	}
	s.addFaces()
	if o.UI != nil {
		for _, path := range []string{"/{$}", "/ui/", "/dev-ui/", "/docs/guide/"} {
			s.mux.Handle("GET "+path, o.UI)
		}
	} else {
		s.mux.Handle("GET /{$}", s.handle(s.index))
	}
	s.mux.Handle("/", s.handle(s.notFound))
	s.handler = s.middleware(s.mux)
	return s
}

type route struct {
	method, path string
	handler      func(http.ResponseWriter, *http.Request) error
}

// routes returns the routes of the contract.
func (s *Server) routes() []route {
	routes := slices.Concat(s.clientRoutes(), s.triggerRoutes(), s.webhookRoutes())
	if s.UI == nil {
		return routes
	}
	return slices.Concat(routes, s.devRoutes(), s.signInRoutes(), s.shareRoutes())
}

func (s *Server) clientRoutes() []route {
	const (
		sessions  = "/apps/{app}/users/{user}/sessions"
		schedules = "/apps/{app}/users/{user}/schedules"
	)
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
		{"POST", sessions + "/{session}/runs/{run}/feedback", s.setFeedback},
		{"GET", sessions + "/{session}/feedback", s.listFeedback},
		{"GET", "/apps/{app}/feedback", s.listAllFeedback},

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

		{"GET", "/apps/{app}/users/{user}/search", s.search},

		{"GET", "/apps/{app}/users/{user}/memory", s.listMemory},
		{"PATCH", "/apps/{app}/users/{user}/memory", s.addToMemory},
		{"DELETE", "/apps/{app}/users/{user}/memory", s.clearMemory},
		{"PATCH", "/apps/{app}/users/{user}/memory/{memory}", s.editMemory},
		{"DELETE", "/apps/{app}/users/{user}/memory/{memory}", s.deleteMemory},

		{"GET", schedules, s.scheduled(s.listSchedules)},
		{"POST", schedules, s.scheduled(s.createSchedule)},
		{"GET", schedules + "/{schedule}", s.scheduled(s.getSchedule)},
		{"PATCH", schedules + "/{schedule}", s.scheduled(s.patchSchedule)},
		{"DELETE", schedules + "/{schedule}", s.scheduled(s.deleteSchedule)},
		{"POST", schedules + "/{schedule}/run", s.scheduled(s.runSchedule)},
		{"GET", schedules + "/{schedule}/firings", s.scheduled(s.listFirings)},

		{"GET", "/inbox", s.inInbox(s.listInbox)},
		{"GET", "/inbox/{entry}", s.inInbox(s.getEntry)},
		{"POST", "/inbox/{entry}/answer", s.inInbox(s.answerEntry)},
		{"POST", "/inbox/{entry}/assign", s.inInbox(s.assignEntry)},
		{"POST", "/inbox/{entry}/link", s.inInbox(s.linkEntry)},
		{"GET", linkPath, s.inInbox(s.showLink)},
		{"POST", linkPath, s.inInbox(s.answerLink)},

		{"GET", "/apps/{app}/users/{user}/credentials", s.listCredentials},
		{"DELETE", "/apps/{app}/users/{user}/credentials", s.revokeCredentials},
		{"GET", broker.StartPath, s.managed(s.showLogin)},
		{"POST", broker.StartPath, s.managed(s.beginLogin)},
		{"GET", broker.CallbackPath, s.managed(s.loginCallback)},

		{"GET", "/list-apps", s.listApps},
		{"GET", "/faces", s.listFaces},
		{"GET", "/apps/{app}/app-info", s.appInfo},

		{"GET", "/usage", s.usage},
		{"GET", "/prices", s.prices},
		{"GET", "/metrics", s.metrics},

		{"GET", "/health", s.health},
		{"GET", "/healthz", s.health},
		{"GET", "/readyz", s.ready},
		{"GET", "/version", s.version},
		{"GET", "/openapi.json", s.openapi},
		{"GET", "/docs", s.docs},
	}
}

// nested returns the routes of artifacts whose names contain slashes. Their handlers are the same.
func (s *Server) nested() []route {
	const name = "/apps/{app}/users/{user}/sessions/{session}/artifacts/{name...}"
	return []route{{"GET", name, s.getArtifact}, {"PUT", name, s.putArtifact}, {"DELETE", name, s.deleteArtifact}}
}

// Routes returns the methods and paths of the server, as in "GET /health".
func (s *Server) Routes() []string {
	list := []string{"GET /"} // the UI, or the index
	for _, r := range s.routes() {
		list = append(list, r.method+" "+r.path)
	}
	return append(list, s.faceRoutes()...)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Other servers prove who they are. The checks of callers, hosts and origins are for clients.
	if s.Peer != nil && s.Peer.Serve(w, r, s.Engine) {
		return
	}
	s.handler.ServeHTTP(w, r)
}

// notFound handles requests without a route: 405 if the path exists with other methods, else 404.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) error {
	if allow := s.methods(r, r.URL); len(allow) > 0 {
		w.Header()["Allow"] = allow
		return &httpError{status: http.StatusMethodNotAllowed, message: "Method Not Allowed"}
	}
	message := "Not Found"
	if path, ok := strings.CutSuffix(r.URL.Path, "/"); ok {
		// A trailing slash is not ignored: a client with an empty id would reach the collection.
		without := &url.URL{Path: path, RawPath: strings.TrimSuffix(r.URL.RawPath, "/")}
		if len(s.methods(r, without)) > 0 {
			message = "Not Found: the path must not end with a slash"
		}
	}
	return &httpError{status: http.StatusNotFound, message: message}
}

// methods returns the methods of a path.
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
