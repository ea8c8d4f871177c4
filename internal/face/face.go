// Package face is what the protocols besides the server's own have in common. Each
// protocol is a face of the server: it translates one kind of request into a run, and
// the log of a run into its own frames. A face stores nothing. What it has to know
// (which messages are new, what the session waits for, where a stream was cut) it
// derives from the log, the runs and the request, so a client may continue on any
// server.
package face

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// Face is one protocol.
type Face struct {
	// Name is the name in --faces, such as "agui".
	Name string
	// Title is what people call the protocol.
	Title string
	// Path is the main path, for lists of faces.
	Path   string
	Routes []Route
	// Fail writes an error in the format of the protocol; nil for that of the server.
	Fail func(w http.ResponseWriter, r *http.Request, p Problem)
	// Challenge returns parameters to add to the WWW-Authenticate header of a request
	// without valid credentials; nil for none.
	Challenge func(r *http.Request) string
}

// New creates a face. Packages register one by name.
type New func(Host) *Face

// Platform creates the faces that a hosting platform calls, at the paths that it wants.
// Packages register one by name. Their routes serve the main application, and may
// lead to those of the faces that are served.
type Platform func(host Host, served []*Face) []*Face

// UserHeader names the user of a request, if the caller may act as other users.
const UserHeader = "X-User-Id"

// Route is a route of a face, with the pattern of http.ServeMux. If the pattern has an
// {app}, the server limits the rate of requests before the handler is called.
type Route struct {
	Method, Path string
	// Scope is what the caller needs.
	Scope access.Scope
	// Public routes need no credentials.
	Public  bool
	Handler func(http.ResponseWriter, *http.Request) error
}

// Problem is an error as clients see it.
type Problem struct { //nolint:errname // it is written in the format of a protocol
	Status  int
	Message string
	// Code and Param are for protocols that have them: a word for the kind of the
	// error, and the member of the request that it is about.
	Code, Param string
	// After is the time to wait before the next try; 0 if unknown.
	After time.Duration
}

func (p *Problem) Error() string { return p.Message }

// Host is the server as faces see it.
type Host interface {
	Engine() *run.Engine
	Sessions() session.Sessions
	// Outbox sends notifications about runs; nil if the server cannot.
	Outbox() *outbox.Outbox
	// Apps returns the names of all applications.
	Apps() []string
	// Agent returns the root agent of an application.
	Agent(app string) (*agent.Agent, error)
	// Describe returns the description of the root agent of an application.
	Describe(app string) (string, error)
	// InputSchema returns the schema of the input of the root agent of an application;
	// nil if it has none.
	InputSchema(app string) json.RawMessage
	// Root returns the name of the root agent of an application; empty if it does not
	// work.
	Root(app string) string
	// Artifacts returns the files of a session.
	Artifacts(key session.Key) tool.Artifacts
	// BaseURL returns the URL of the server for clients: the configured one, or the
	// one of the request.
	BaseURL(r *http.Request) string
	// Issuers returns the URLs of the issuers of identity tokens that are accepted.
	Issuers() []string
	// TakesKeys reports whether callers authenticate with API keys of the server.
	TakesKeys() bool
	// MainApp returns the application that clients find at the root; empty if there is
	// none.
	MainApp() string
	// A2AURL returns the URL of the main application for clients of A2A over JSON-RPC, if
	// what is in front of the server has one; otherwise it is empty.
	A2AURL() string
	// Version returns the version of the server.
	Version() string
	// Body reads the JSON body of a request, within the limit of the server.
	Body(w http.ResponseWriter, r *http.Request) ([]byte, error)
	// Identify returns whose sessions the request is about, and the caller for
	// limits. named is the user in the body, which counts only if the caller may act
	// as other users.
	Identify(r *http.Request, named string) (Identity, error)
	// CheckRate limits the requests of a caller whose path does not have the
	// application.
	CheckRate(r *http.Request, app string) error
	// About adds to an error the session that it is about, for its message.
	About(key session.Key, err error) error
	// Explain returns an error as clients see it.
	Explain(err error, key session.Key) Problem
	// UntilExpiry returns the context of a stream, which ends when the token of the
	// caller expires, with ErrExpired as its cause.
	UntilExpiry(r *http.Request) (context.Context, context.CancelFunc)
	// Disconnected is called when the client that started a run has disconnected. The
	// policy of the request, or of the server, decides whether the run continues.
	Disconnected(r *http.Request, started *run.Run)
	// Streaming reports the start of a stream to the telemetry.
	Streaming() (ended func())
}

// Identity says for whom a request is made.
type Identity struct {
	User string
	// Caller identifies the caller for limits.
	Caller string
}
