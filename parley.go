// Package parley is an agent runtime: it keeps sessions, runs agents on new
// messages, and serves both over HTTP to the clients that people already have.
//
//	srv, err := parley.Open(ctx, parley.Config{
//		Agents: map[string]*agent.Agent{"weather": root},
//	})
//	if err != nil { … }
//	err = srv.Run(ctx) // until SIGINT, SIGTERM, or ctx is done
//
// Run serves HTTP. A program that has an HTTP server of its own mounts Handler
// instead. A program that needs no HTTP uses Ask for a question and its answer,
// Start for a run that it follows, waits for or cancels, and Sessions for the
// sessions.
//
// A program links what it uses. By itself, this package keeps sessions in memory and
// serves agents in Go. Databases, models, agents in TypeScript, the developer UI and
// others are packages that a program imports for their side effect; package all
// imports them all. A setting whose package is not imported is an error that names
// the import.
package parley

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/link"
	"github.com/parley-run/parley/internal/observe"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/peer"
	"github.com/parley-run/parley/internal/playback"
	"github.com/parley-run/parley/internal/price"
	publicnet "github.com/parley-run/parley/internal/public"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/trigger"
	"github.com/parley-run/parley/internal/webhook"
	"github.com/parley-run/parley/session"
)

// Server hosts the applications of one Config.
type Server struct {
	cfg    Config
	engine *run.Engine
	prices *price.Table
	store  session.Store
	logins *broker.Broker
	outbox *outbox.Outbox // nil if there is none

	schedules *schedule.Service // nil if the store has none
	scheduler *schedule.Runner  // nil if this server starts none
	webhooks  *webhook.Service  // nil if there is no outbox

	inbox    *serverInbox
	triggers *trigger.Service

	peer    *peer.Peer // nil without Network.PeerAddr
	apps    *apps
	ui      http.Handler  // nil without UI.Enabled
	gate    access.Gate   // with AccessOIDC and AccessKeys
	rate    *access.Rate  // nil for no limit
	keys    session.Store // of the keys, if it is another one
	issuers []string      // with AccessOIDC
	signIn  server.SignIn // with AccessOIDC and AccessKeys

	artifacts *artifact.Store
	telemetry observe.Telemetry
	evals     *eval.Service
	recorder  *playback.Recorder // nil if nothing is recorded
	replays   *playback.Service
	adminAt   *net.TCPAddr // nil if there is none
}

// Open creates a server: it opens the stores and loads the agents. It does not
// listen; Run and Serve do. The server does not end with ctx, but has to be closed,
// which Run and Serve do.
//
// If a field of cfg is invalid, the error is a *ConfigError that names it.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})) //nolint:forbidigo // the documented default
	}
	if cfg.Stdout == nil {
		cfg.Stdout = os.Stdout //nolint:forbidigo // the documented default
	}
	cfg.Log = observe.Logger(cfg.Log)
	s := &Server{cfg: cfg, apps: &apps{code: maps.Clone(cfg.Agents), evals: cfg.Evaluations.Dir}}
	if err := s.open(ctx); err != nil {
		s.release() //nolint:contextcheck // ctx may be done
		if is[*ConfigError](err) {
			return nil, err
		}
		return nil, fmt.Errorf("parley: %w", err)
	}
	return s, nil
}

// open opens and loads what the server needs. After an error, release closes what
// is open already.
func (s *Server) open(ctx context.Context) (err error) {
	cfg := &s.cfg
	if s.telemetry, err = cfg.telemetry(ctx); err != nil {
		return err
	}
	if cfg.Offline {
		if _, err := cfg.offline(); err != nil {
			return err
		}
	}
	if cfg.UI.Enabled {
		handler, ok := registry.Find[link.DevUI]("")
		if !ok {
			return inField("UI.Enabled", registry.Missing("the developer UI", "devui"))
		}
		if s.ui, err = handler(cfg.UI.Dir); err != nil {
			return inField("UI.Dir", err)
		}
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	names := cfg.named()
	for app, root := range cfg.Agents {
		if err := checkModels(app, root, names, cfg.Log); err != nil {
			return err
		}
	}
	if err := s.openPeer(); err != nil {
		return err
	}
	address := ""
	if s.peer != nil {
		address = s.peer.Self()
	}
	store, lease, err := openStore(ctx, cfg, address)
	if err != nil {
		return inField("Sessions.URL", err)
	}
	s.store = store
	if s.artifacts, err = openArtifacts(cfg); err != nil {
		return inField("Artifacts.URL", err)
	}
	if s.logins, err = newBroker(ctx, cfg, store); err != nil {
		return err
	}
	if s.outbox, err = newOutbox(cfg, store, s.logins, s.telemetry); err != nil {
		return err
	}
	if err := s.openGate(ctx); err != nil {
		return err
	}
	if perMinute := cfg.Limits.RequestsPerMinute; perMinute > 0 {
		s.rate = access.NewRate(perMinute)
	}
	if err := s.checkLogins(); err != nil {
		return err
	}
	var peers run.Peers
	if s.peer != nil && lease != 0 {
		peers = s.peer
	}
	if s.prices, err = price.Load(cfg.PriceFile); err != nil {
		return inField("PriceFile", err)
	}
	if err := s.apps.makeEvalDirs(); err != nil {
		return inField("Evaluations.Dir", err)
	}
	s.openWebhooks()
	s.recorder = s.newRecorder() //nolint:contextcheck // it ends with the server
	s.engine = run.NewEngine(run.Options{
		Passive: cfg.Sessions.Passive, Edges: s.edges(), Store: s.store, Peers: peers, Agent: s.apps.Agent, Models: names, Log: cfg.Log, MaxModelCalls: cfg.Limits.ModelCalls,
		Lease: lease, TTL: cfg.Sessions.TTL, WaitTTL: cfg.waitTTL(), Now: cfg.Now,
		MayAnswer: s.inboxRules().MayAnswer, Logins: logins{s.logins}, CredentialCall: string(cfg.Logins.Call), Artifacts: s.artifacts, Limits: cfg.Limits.engine(), Prices: s.prices,
		Bounds: cfg.Limits.bounds(), Observer: s.telemetry, Reached: s.budgetReached,
	})
	s.evals, s.replays = s.newEvals(), s.newReplays(names) //nolint:contextcheck // what records a case ends with it
	s.telemetry.Watch(s.levels)
	s.startWebhooks()
	s.openSchedules()
	s.openInbox()
	s.openTriggers()
	return nil
}

// openPeer prepares what the other servers that share the database reach.
func (s *Server) openPeer() error {
	if s.cfg.Network.PeerAddr == "" {
		return nil
	}
	_, port, err := s.address()
	if err != nil {
		return err
	}
	address, err := peer.Address(s.cfg.Network.PeerAddr, port)
	if err != nil {
		return inField("Network.PeerAddr", err)
	}
	s.peer = peer.New(address)
	return nil
}

// load loads the applications that are written in TypeScript.
func (s *Server) load(ctx context.Context) error {
	c := &s.cfg.Scripts
	if c.Dir == "" {
		return nil
	}
	load, ok := registry.Find[link.LoadScripts]("")
	if !ok {
		return inField("Scripts.Dir", registry.Missing("the JavaScript engine", "typescript"))
	}
	var hosts *publicnet.Hosts
	if len(c.AllowHosts) > 0 {
		var err error
		if hosts, err = publicnet.ParseHosts(c.AllowHosts); err != nil {
			return inField("Scripts.AllowHosts", err)
		}
	}
	// An application that cannot be loaded is served as broken, which a caller that is
	// in a hurry does not mean.
	found, err := load(context.WithoutCancel(ctx), link.ScriptOptions{
		Dir: c.Dir, AppName: c.AppName, Environ: s.cfg.agentEnviron(os.Environ()), //nolint:forbidigo // agents expect the environment of the process
		Models: s.cfg.models, Log: s.cfg.Log, CacheDir: c.CacheDir, Reload: c.Reload,
		Engine: string(c.Engine), Engines: c.Engines, Memory: c.EngineMemory, Hosts: hosts, Scratch: cmp.Or(max(c.ScratchSize, -1), 256<<20), MaxResponse: s.cfg.Limits.ModelResponseBytes, Processes: c.AllowProcesses,
	})
	if err != nil {
		return inField("Scripts.Dir", err)
	}
	s.apps.found = found
	for _, name := range found.Names() {
		if _, twice := s.cfg.Agents[name]; twice {
			return wrong("Scripts.Dir", "the application %q is in Agents, too", name)
		}
	}
	return nil
}

// waitTTL is WaitTTL, and 0 for no end.
func (c *Config) waitTTL() time.Duration {
	if c.Sessions.WaitTTL == 0 {
		return 7 * 24 * time.Hour
	}
	return max(c.Sessions.WaitTTL, 0)
}

// Handler returns the handler of the HTTP API, for programs that have a server of
// their own. Limits apply to it, and so does Access, unless its mode is empty or
// AccessLocal: then every caller has all permissions, and the host names of requests
// are not checked, so that the program must restrict who can reach the handler. The
// program calls Close when it is done.
func (s *Server) Handler() http.Handler { return s.handler(nil) }

// handler is for a listener at an address, which may be nil.
func (s *Server) handler(listening *net.TCPAddr) *server.Server {
	loopback := s.cfg.local() && listening != nil && listening.IP.IsLoopback()
	public, _ := s.cfg.Network.publicURL() // it is valid
	return server.New(server.Options{
		Engine: s.engine, Store: s.store, Apps: s.apps, Log: s.cfg.Log, Version: Version(),
		Concurrency: s.cfg.Sessions.OnBusy, OnDisconnect: string(s.cfg.Sessions.OnDisconnect),
		Prices: s.prices, Limits: s.cfg.Limits.engine(),
		Network: server.Network{
			PublicURL: public, AllowOrigins: s.cfg.Network.AllowOrigins, LoopbackOnly: loopback, AllowHosts: s.cfg.Network.AllowHosts,
			MaxBody: s.cfg.Limits.BodyBytes, Peer: s.peer,
		},
		Access:      server.Access{Gate: s.gateFor(listening), Issuers: s.issuers, Rate: s.rate, Recall: s.recallFor(listening)},
		Files:       server.Files{Artifacts: s.artifacts, MaxArtifact: s.cfg.Artifacts.MaxBytes, SaveInputFiles: s.cfg.Artifacts.SaveInput},
		Services:    server.Services{Logins: s.logins, Schedules: s.schedules, Inbox: s.inbox.service, Triggers: s.triggers, Webhooks: s.webhooks, Outbox: s.outbox},
		Protocols:   server.Protocols{Faces: s.cfg.Network.faces(), Platforms: s.cfg.Network.platforms(), MainApp: s.cfg.Network.A2AApp, A2AURL: s.cfg.Network.A2AURL},
		Observation: server.Observation{Observer: s.telemetry, Metrics: s.telemetry.Metrics()},
		Developers:  server.Developers{UI: s.ui, SignIn: s.signIn, Evals: s.evals, Replays: s.replays, Traces: s.telemetry.Traces()},
	})
}

// version is stamped on releases when they are linked.
var version string

// Version returns the version of this module that the program is built with, or
// "devel".
func Version() string {
	if version != "" {
		return version
	}
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
