// Package parley is an agent runtime: it keeps sessions, runs agents on new
// messages, and serves both over HTTP to the clients that people already have.
//
//	srv, err := parley.New(parley.Config{
//		Agents: map[string]*agent.Agent{"weather": root},
//	})
//	if err != nil { … }
//	err = srv.Run(ctx) // until SIGINT, SIGTERM, or ctx is done
//
// A program that has a server of its own mounts Handler instead, and one that
// needs no HTTP at all uses Stream.
package parley

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"runtime/debug"
	"slices"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/session"
)

// Config says what to serve and how. The zero value of every field works,
// except that there must be something to serve.
type Config struct {
	// Agents are the applications, written in Go: root agents by the name of
	// the application.
	Agents map[string]*agent.Agent
	// AgentDir is a directory with applications written in TypeScript.
	AgentDir string
	// SessionDBURL says where sessions are kept; empty means in memory.
	SessionDBURL string
	// AllowOrigins are the web origins, beside the server's own, whose pages
	// may call it, such as "https://app.example.com" or
	// "https://*.example.com".
	AllowOrigins []string
	// WebUI serves the developer UI at the root address.
	WebUI bool
	// Port is where Run listens. 0 means the PORT environment variable or,
	// without one, 8080.
	//
	// Run listens on the loopback interface, unless PORT is set and used: then
	// a hosting platform is in charge, which checks who may call, and all
	// interfaces are listened on.
	Port int
	// MaxModelCalls ends a run that makes more; 0 means 100.
	MaxModelCalls int
	// MaxBodyBytes is the largest request body; 0 means 32 MiB.
	MaxBodyBytes int64
	// Log gets what is worth knowing; nil means warnings and errors, as text,
	// on standard error.
	Log *slog.Logger
	// Stdout gets the lines that tell where the server listens; nil means the
	// standard output of the process.
	Stdout io.Writer
}

// Server hosts the applications of one Config.
type Server struct {
	cfg    Config
	engine *run.Engine
	store  session.Store
	apps   apps
}

// New makes a server. It listens only when it is told to Run.
func New(cfg Config) (*Server, error) {
	switch {
	case cfg.AgentDir != "":
		return nil, errors.New("parley: AgentDir: agents in TypeScript are not supported by this version; give agents written in Go in Agents")
	case cfg.SessionDBURL != "":
		return nil, errors.New("parley: SessionDBURL: session databases are not supported by this version; leave it empty to keep sessions in memory")
	case cfg.WebUI:
		return nil, errors.New("parley: WebUI: the developer UI is not part of this version")
	case len(cfg.Agents) == 0:
		return nil, errors.New("parley: there is nothing to serve: give at least one agent in Agents")
	case cfg.Port < 0 || cfg.Port > 65535:
		return nil, fmt.Errorf("parley: Port: %d is not a port", cfg.Port)
	case cfg.MaxModelCalls < 0 || cfg.MaxBodyBytes < 0:
		return nil, errors.New("parley: MaxModelCalls and MaxBodyBytes must not be negative")
	}
	for name, root := range cfg.Agents {
		if err := session.CheckIdentifier("application name", name); err != nil {
			return nil, fmt.Errorf("parley: Agents: %q: %w", name, err)
		}
		if root == nil {
			return nil, fmt.Errorf("parley: Agents: %q is nil", name)
		}
		if root.Parent() != nil {
			return nil, fmt.Errorf("parley: Agents: %q: the agent %s is a sub-agent of %s; an application starts with a root", name, root.Name(), root.Parent().Name())
		}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})) //nolint:forbidigo // the documented default
	}
	if cfg.Stdout == nil {
		cfg.Stdout = os.Stdout //nolint:forbidigo // the documented default
	}
	s := &Server{cfg: cfg, store: session.NewMemory(), apps: maps.Clone(cfg.Agents)}
	s.engine = run.NewEngine(run.Options{
		Store: s.store, Agent: s.apps.Agent, Log: cfg.Log, MaxModelCalls: cfg.MaxModelCalls,
	})
	return s, nil
}

// Handler answers the HTTP contract, for programs that have a server of their
// own. Such a program decides itself who may reach it, and calls Close when it
// is done.
func (s *Server) Handler() http.Handler { return s.handler(false) }

func (s *Server) handler(loopback bool) http.Handler {
	return server.New(server.Options{
		Engine: s.engine, Store: s.store, Apps: s.apps, Log: s.cfg.Log,
		AllowOrigins: s.cfg.AllowOrigins, LoopbackOnly: loopback,
		MaxBody: s.cfg.MaxBodyBytes, Version: Version(),
	})
}

// apps are applications that were given in code.
type apps map[string]*agent.Agent

func (a apps) Names() []string { return slices.Sorted(maps.Keys(a)) }

func (a apps) Agent(app string) (*agent.Agent, bool) {
	root, ok := a[app]
	return root, ok
}

// Version is the version of this module as it was built into the program, or
// "devel".
func Version() string {
	const module = "github.com/parley-run/parley"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return "devel"
}
