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
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/script"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/telemetry"
	"github.com/parley-run/parley/internal/webui"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
)

// Config says what to serve and how. The zero value of every field works,
// except that there must be something to serve.
type Config struct {
	// Agents are the applications, written in Go: root agents by the name of
	// the application.
	Agents map[string]*agent.Agent
	// AgentDir is a directory with an application written in TypeScript, or
	// with several, each in a directory of its own.
	AgentDir string
	// AppName is the name of a single application in AgentDir; empty means
	// that of its directory.
	AppName string
	// Models are models that agents may use by these names, beside those that
	// are built in; see model.Named.
	Models map[string]model.Model
	// Offline replaces the models that agents name by one that needs no key and
	// no network.
	Offline bool
	// ReloadAgents picks up changes of the files in AgentDir.
	ReloadAgents bool
	// Engines is how many JavaScript engines each application has; more than
	// one only for applications that are heavy on CPU, since they share no
	// variables.
	Engines int
	// AllowProcesses lets the agents in AgentDir start processes: MCP servers that
	// speak on their standard input and output. They run as the user that the
	// server runs as.
	AllowProcesses bool
	// CacheDir keeps what is made of AgentDir from one start to the next;
	// empty means not at all.
	CacheDir string
	// SessionDBURL says where sessions and runs are kept: empty means in memory,
	// until the process ends; sqlite:///path/to/file.db in a file;
	// postgres://… in a database that any number of servers may share; and
	// agentengine://ID or agentengine://projects/…/reasoningEngines/ID with the
	// session service of Google Cloud, which keeps sessions, but no runs.
	SessionDBURL string
	// ArtifactURL says where files of sessions and users are kept: memory://,
	// file:///path/to/directory, s3://bucket or gs://bucket. Empty means as
	// lasting as the sessions: in memory, or in a directory beside the file of
	// SQLite. With Postgres, it has to be given before files can be saved.
	ArtifactURL string
	// MaxArtifactBytes is the largest file that can be saved over HTTP, as it is
	// or in JSON; 0 means 1 GiB. A text in JSON, and what is beside a file in it,
	// cannot be larger than MaxBodyBytes.
	MaxArtifactBytes int64
	// SaveInputFiles keeps the files in messages of users as artifacts, and
	// leaves only their names in the conversation, unless the request says
	// otherwise.
	SaveInputFiles bool
	// RunLease is how long a run in a database may be without a sign of life
	// from the server that works on it, before another one takes it over; 0
	// means 10 seconds.
	RunLease time.Duration
	// SessionTTL is how long a session is kept after its last change; 0 means
	// for ever.
	SessionTTL time.Duration
	// WaitTTL is how long a run waits for an answer: to a login, a confirmation,
	// a question, or a call of a long-running tool. An answer that comes later is
	// refused, and the run has failed. 0 means 7 days; a negative one means for as
	// long as there is the session.
	WaitTTL time.Duration
	// Concurrency is what a message does that finds its session busy, unless
	// the request says otherwise: "enqueue" (or empty), "reject", "interrupt" or
	// "rollback".
	Concurrency string
	// OnDisconnect is what becomes of a run whose client goes away, unless the
	// request says otherwise: "continue" (or empty) or "cancel".
	OnDisconnect string
	// CredentialKey seals the logins of users: 32 bytes in base64, or a key
	// ring. CredentialKeyFile is a file with one. Without either, a key is made
	// for sessions in memory and, beside the file, for those in SQLite; with
	// Postgres, agents with tools that need a login are refused.
	CredentialKey     string
	CredentialKeyFile string
	// CredentialKMS is the key of a key management service that the key ring is
	// wrapped with, such as "aws-kms://arn:aws:kms:…" or
	// "gcp-kms://projects/…". The service is asked once, at the start. It needs
	// a program that is built with -tags kms.
	CredentialKMS string
	// CredentialsPerUser keeps a login for all sessions of the user, not only
	// for the one that asked for it.
	CredentialsPerUser bool
	// CredentialCall is the name of the function call with which a user is
	// asked to log in: "svc_request_credential" (or empty), or
	// "adk_request_credential" for clients that look for that.
	CredentialCall string
	// PublicURL is where users reach this server. With it, clients need only
	// open the address of a login: users begin at /oauth/start and come back to
	// /oauth/callback, and the run goes on by itself.
	PublicURL string
	// AllowPrivateLogins are networks, such as "10.0.0.0/8", in which login
	// providers may be. Others are called on public addresses only and, with
	// AccessLocal, on this machine.
	AllowPrivateLogins []string
	// LoginTimeout is how long a login provider may take to answer; 0 means 15
	// seconds.
	LoginTimeout time.Duration
	// AllowOrigins are the web origins, beside the server's own, whose pages
	// may call it, such as "https://app.example.com", "https://*.example.com" or
	// "http://localhost:*". One * is allowed in each.
	AllowOrigins []string
	// WebUI serves the developer UI at the root address, and what only
	// developers need. UIDir is a directory with another one, such as the
	// built files of adk-web, to be served at /dev-ui/.
	WebUI bool
	UIDir string
	// AllowHosts are the host names, such as "api.example.com" or
	// "*.example.com", that requests may be sent to; empty means any. With
	// AccessLocal, they are taken beside those of the loopback interface.
	AllowHosts []string
	// Host is the address or the name that Run listens on. One that other
	// machines can reach needs an Access other than AccessLocal.
	//
	// Empty means the loopback interface, unless PORT is set and used, as
	// below: then a hosting platform is in charge, which checks who may call,
	// and all interfaces are listened on.
	Host string
	// Port is where Run listens. 0 means the PORT environment variable or,
	// without one, 8080; with a Host, it means any port that is free.
	Port int
	// Access says who may call: AccessLocal, AccessPublic, AccessPlatform,
	// AccessOIDC or AccessKeys. Empty means AccessLocal, unless a hosting platform
	// is in charge.
	Access string
	// OIDC says which identity tokens count, with AccessOIDC.
	OIDC OIDC
	// UserHeader is the header in which the platform in front says which user a
	// caller is, with AccessPlatform; empty means that callers may be any user.
	UserHeader string
	// Proxied says that, with AccessPublic, all requests come through a proxy,
	// which puts the address of the caller last in X-Forwarded-For: limits count
	// by that.
	Proxied bool
	// KeysDBURL says where API keys are kept, as SessionDBURL does for sessions;
	// empty means beside the sessions.
	KeysDBURL string
	// Limits keep one caller, or one run, from taking what others need.
	Limits Limits
	// MaxModelCalls ends a run that makes more; 0 means 100.
	MaxModelCalls int
	// MaxToolCalls is how many calls of tools one response of a model may have; 0
	// means 256. The run fails if it has more.
	MaxToolCalls int
	// MaxModelResponseBytes is the largest response of a model, decompressed; 0
	// means 64 MiB. The run fails if one is larger.
	MaxModelResponseBytes int64
	// MaxToolResultBytes is the largest result of a tool; 0 means 10 MiB. The
	// results of all calls in one response of a model may have four times as much
	// together. In the place of a larger one, the model gets an error.
	MaxToolResultBytes int64
	// MaxBodyBytes is the largest request body; 0 means 32 MiB.
	MaxBodyBytes int64
	// Now is the clock that events are stamped with; nil means time.Now. Leases
	// go by the clock of the database.
	Now func() time.Time
	// AdminAddr is where Run and Serve also listen for those who operate the
	// server, and who need no login there: metrics, probes and profiles. It is
	// a port of the loopback interface, such as "9090", or an address and a
	// port, such as "0.0.0.0:9090"; empty means nowhere.
	AdminAddr string
	// TraceContent exports what people, models and tools say along with the
	// spans of a trace; without it, spans tell only how long things took and how
	// they went. OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true does the
	// same. Where spans are exported to, the other variables of OpenTelemetry
	// say, such as OTEL_EXPORTER_OTLP_ENDPOINT; without them, nowhere.
	TraceContent bool
	// Log gets what is worth knowing; nil means warnings and errors, as text,
	// on standard error.
	Log *slog.Logger
	// Stdout gets the lines that tell where the server listens and what it
	// serves; nil means the standard output of the process.
	Stdout io.Writer

	spansTo string // where tests have spans exported to
}

// Who may call a server. It decides where Run may listen, and whether requests
// have to name a loopback host.
const (
	// AccessLocal is for programs on the same machine.
	AccessLocal = "local"
	// AccessPublic is for anybody who can reach the server.
	AccessPublic = "public"
	// AccessPlatform leaves it to what is in front of the server, such as a
	// hosting platform or a proxy, to check who may call.
	AccessPlatform = "platform"
	// AccessOIDC is for whoever shows an identity token of Config.OIDC.
	AccessOIDC = "oidc"
	// AccessKeys is for whoever shows an API key.
	AccessKeys = "keys"
)

// Server hosts the applications of one Config.
type Server struct {
	cfg    Config
	engine *run.Engine
	store  session.Store
	logins *broker.Broker
	apps   *apps
	ui     http.Handler  // nil without WebUI
	gate   access.Gate   // with AccessOIDC and AccessKeys
	keys   session.Store // of the keys, if it is another one
	signIn server.SignIn // with AccessOIDC and AccessKeys

	artifacts *artifact.Store
	telemetry *telemetry.Telemetry
	evals     *eval.Service
	adminAt   *net.TCPAddr // nil if there is none
}

// New makes a server. It listens only when it is told to Run.
func New(cfg Config) (*Server, error) {
	switch {
	case !slices.Contains([]string{"", "enqueue", "reject", "interrupt", "rollback"}, cfg.Concurrency):
		return nil, fmt.Errorf("parley: Concurrency: %q is none of enqueue, reject, interrupt and rollback", cfg.Concurrency)
	case !slices.Contains([]string{"", "continue", "cancel"}, cfg.OnDisconnect):
		return nil, fmt.Errorf("parley: OnDisconnect: %q is neither continue nor cancel", cfg.OnDisconnect)
	case cfg.RunLease < 0 || cfg.RunLease > 0 && cfg.RunLease < minLease:
		return nil, fmt.Errorf("parley: RunLease: %v is too short; it must be at least %v", cfg.RunLease, minLease)
	case !slices.Contains([]string{"", agent.CredentialCall, agent.CredentialCallADK}, cfg.CredentialCall):
		return nil, fmt.Errorf("parley: CredentialCall: %q is neither %s nor %s", cfg.CredentialCall, agent.CredentialCall, agent.CredentialCallADK)
	case cfg.CredentialKey != "" && cfg.CredentialKeyFile != "":
		return nil, errors.New("parley: CredentialKey and CredentialKeyFile are the same thing: give one of them")
	case cfg.LoginTimeout < 0:
		return nil, errors.New("parley: LoginTimeout must not be negative")
	case cfg.SessionTTL < 0:
		return nil, errors.New("parley: SessionTTL must not be negative")
	case cfg.UIDir != "" && !cfg.WebUI:
		return nil, errors.New("parley: UIDir: it needs WebUI (--with_ui)")
	case len(cfg.Agents) == 0 && cfg.AgentDir == "":
		return nil, errors.New("parley: there is nothing to serve: give agents in Agents, or a directory of them in AgentDir")
	case cfg.Port < 0 || cfg.Port > 65535:
		return nil, fmt.Errorf("parley: Port: %d is not a port", cfg.Port)
	case !slices.Contains([]string{"", AccessLocal, AccessPublic, AccessPlatform, AccessOIDC, AccessKeys}, cfg.Access):
		return nil, fmt.Errorf("parley: Access: %q is none of %s, %s, %s, %s and %s", cfg.Access, AccessLocal, AccessPublic, AccessPlatform, AccessOIDC, AccessKeys)
	case cfg.local() && !cfg.isLoopback():
		return nil, fmt.Errorf("parley: Host: other machines can reach %s; say who may call with Access (--access): "+
			"%s for those with an identity token, %s for those with an API key, %s if what is in front of the server checks it, or %s for anybody",
			cfg.Host, AccessOIDC, AccessKeys, AccessPlatform, AccessPublic)
	case cfg.MaxModelCalls < 0 || cfg.MaxBodyBytes < 0 || cfg.MaxArtifactBytes < 0 || cfg.Engines < 0:
		return nil, errors.New("parley: MaxModelCalls, MaxBodyBytes, MaxArtifactBytes and Engines must not be negative")
	case cfg.MaxToolCalls < 0 || cfg.MaxModelResponseBytes < 0 || cfg.MaxToolResultBytes < 0:
		return nil, errors.New("parley: MaxToolCalls, MaxModelResponseBytes and MaxToolResultBytes must not be negative")
	}
	if _, err := cfg.adminAddress(); cfg.AdminAddr != "" && err != nil {
		return nil, fmt.Errorf("parley: %w", err)
	}
	if err := cfg.checkAccess(); err != nil {
		return nil, fmt.Errorf("parley: %w", err)
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
	cfg.Log = telemetry.Logger(cfg.Log)
	s := &Server{cfg: cfg, apps: &apps{code: maps.Clone(cfg.Agents)}}
	var err error
	if s.telemetry, err = telemetry.New(context.Background(), cfg.telemetry()); err != nil {
		return nil, fmt.Errorf("parley: %w", err)
	}
	if cfg.WebUI {
		ui, err := webui.Handler(cfg.UIDir)
		if err != nil {
			s.release()
			return nil, fmt.Errorf("parley: UIDir: %w", err)
		}
		s.ui = ui
	}
	if cfg.AgentDir != "" {
		found, err := script.Load(context.Background(), script.Options{
			Dir: cfg.AgentDir, AppName: cfg.AppName, Environ: cfg.agentEnviron(os.Environ()), //nolint:forbidigo // agents expect the environment of the process
			Models: cfg.models, Log: cfg.Log, CacheDir: cfg.CacheDir, Reload: cfg.ReloadAgents,
			Engines: cfg.Engines, Processes: cfg.AllowProcesses,
		})
		if err != nil {
			s.release()
			return nil, fmt.Errorf("parley: AgentDir: %w", err)
		}
		s.apps.found = found
		for _, name := range found.Names() {
			if _, twice := cfg.Agents[name]; twice {
				s.release()
				return nil, fmt.Errorf("parley: the application %q is in Agents and in AgentDir", name)
			}
		}
	}
	names := cfg.named()
	for app, root := range cfg.Agents {
		if err := checkModels(app, root, names, cfg.Log); err != nil {
			s.release()
			return nil, fmt.Errorf("parley: %w", err)
		}
	}
	store, lease, err := openStore(context.Background(), &cfg)
	if err != nil {
		s.release()
		return nil, fmt.Errorf("parley: SessionDBURL: %w", err)
	}
	s.store = store
	if s.artifacts, err = openArtifacts(&cfg); err != nil {
		s.release()
		return nil, fmt.Errorf("parley: ArtifactURL: %w", err)
	}
	if s.logins, err = newBroker(&cfg, store); err != nil {
		s.release()
		return nil, fmt.Errorf("parley: %w", err)
	}
	if err := s.openGate(context.Background()); err != nil {
		s.release()
		return nil, fmt.Errorf("parley: %w", err)
	}
	if err := s.checkLogins(); err != nil {
		s.release()
		return nil, fmt.Errorf("parley: %w", err)
	}
	s.engine = run.NewEngine(run.Options{
		Store: s.store, Agent: s.apps.Agent, Models: names, Log: cfg.Log, MaxModelCalls: cfg.MaxModelCalls,
		Lease: lease, TTL: cfg.SessionTTL, WaitTTL: cfg.waitTTL(), Now: cfg.Now,
		Logins: logins{s.logins}, CredentialCall: cfg.CredentialCall, Artifacts: s.artifacts, Limits: cfg.Limits.engine(),
		Bounds: cfg.bounds(), Observer: s.telemetry,
	})
	s.evals = s.newEvals()
	s.telemetry.Watch(s.levels)
	return s, nil
}

// waitTTL is WaitTTL, and 0 for no end.
func (c *Config) waitTTL() time.Duration {
	if c.WaitTTL == 0 {
		return 7 * 24 * time.Hour
	}
	return max(c.WaitTTL, 0)
}

// Handler answers the HTTP contract, for programs that have a server of their
// own. Such a program decides itself who may reach it, and calls Close when it
// is done. Access and Limits hold here as well.
func (s *Server) Handler() http.Handler { return s.handler(nil) }

// handler is for a listener at an address, which may be nil.
func (s *Server) handler(listening *net.TCPAddr) http.Handler {
	loopback := s.cfg.local() && listening != nil && listening.IP.IsLoopback()
	public, _ := s.cfg.publicURL() // New has seen to it
	return server.New(server.Options{
		Engine: s.engine, Store: s.store, Logins: s.logins, PublicURL: public, Apps: s.apps, Log: s.cfg.Log,
		Artifacts: s.artifacts, MaxArtifact: s.cfg.MaxArtifactBytes, SaveInputFiles: s.cfg.SaveInputFiles,
		AllowOrigins: s.cfg.AllowOrigins, LoopbackOnly: loopback, AllowHosts: s.cfg.AllowHosts,
		Gate: s.gateFor(listening), RequestsPerMinute: s.cfg.Limits.RequestsPerMinute,
		MaxBody: s.cfg.MaxBodyBytes, Version: Version(),
		Concurrency: session.Policy(s.cfg.Concurrency), OnDisconnect: s.cfg.OnDisconnect,
		UI: s.ui, SignIn: s.signIn, Observer: s.telemetry, Traces: s.traces(), Metrics: s.telemetry.Metrics(), Evals: s.evals,
	})
}

// version is stamped on releases when they are linked.
var version string

// Version is the version of this module as it was built into the program, or
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
