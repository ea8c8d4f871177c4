// Package mcp provides the tools of a Model Context Protocol server, which is
// a process that this one starts, or a service that it calls over HTTP.
//
// A Toolset connects when its tools are first needed. If the server dies, is
// restarted or forgets its session, the next use connects again. A call that
// had begun is repeated only if the server declares that this is safe, or if
// the server cannot have received it.
package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/tool"
)

// Config selects the server and its tools. Exactly one of Stdio, HTTP and SSE
// must be set.
type Config struct {
	// Stdio is a server that this process starts.
	Stdio *Stdio
	// HTTP is a server that speaks streamable HTTP.
	HTTP *HTTP
	// SSE is a server that speaks the older HTTP transport.
	SSE *HTTP

	// Filter selects the tools, by their names without Prefix. nil selects all.
	// See Only.
	Filter func(name string) bool
	// Prefix is put before the name of every tool, with an underscore.
	Prefix string
	// Confirm asks the user before every call; ConfirmWhen only before those
	// for which it returns true.
	Confirm     bool
	ConfirmWhen tool.When

	// ConnectTimeout limits how long it takes to start a server and to list its
	// tools; 0 means 30 seconds.
	ConnectTimeout time.Duration
	// CallTimeout limits how long a call takes; 0 means five minutes.
	CallTimeout time.Duration
	// Log receives the standard error of the process, and failures that the
	// toolset recovers from; nil disables it.
	Log *slog.Logger
}

// Stdio is a process that speaks the protocol on its standard input and output. It
// ends with the toolset, together with the processes that it has started.
type Stdio struct {
	Command string
	Args    []string
	// Env are additional variables for the process, as name=value. Otherwise it
	// gets only the few that every program needs, such as PATH and HOME, because
	// the environment may contain secrets.
	Env []string
	// Environ is the environment, as name=value, from which those few variables are
	// taken; nil means that of this process.
	Environ []string
	// Dir is the working directory of the process; empty means that of this one.
	Dir string
}

// HTTP is a server with a URL.
type HTTP struct {
	URL string
	// Header is added to every request, to this server only.
	Header http.Header
	// Headers returns additional headers for the user of a call, for example with
	// the user's token. Users with different headers have separate sessions.
	Headers func(ctx *tool.Context) (map[string]string, error)
	// Client sends the requests; nil means a default. It should have no timeout,
	// which would cut off long responses.
	Client *http.Client
}

const (
	connectTimeout = 30 * time.Second
	callTimeout    = 5 * time.Minute
	maxSessions    = 64               // that are kept open for different headers
	maxIdle        = 10 * time.Minute // after which one of them is closed
	backOff        = 3 * time.Second  // after a server could not be connected to
)

// Only returns a Filter that selects the named tools.
func Only(names ...string) func(name string) bool {
	names = slices.Clone(names)
	return func(name string) bool { return slices.Contains(names, name) }
}

// Toolset provides the tools of one server. It is safe for concurrent use.
type Toolset struct {
	cfg Config
	log *slog.Logger

	wg  sync.WaitGroup // one for every link
	old atomic.Bool    // the server, a process, supports older protocols only

	mu     sync.Mutex
	closed bool
	links  map[string]*link       // by their headers
	known  map[string][]tool.Tool // what was last listed, by the same
	failed map[string]failure
}

// failure is a failed connection.
type failure struct {
	err error
	at  time.Time
}

var _ tool.Toolset = (*Toolset)(nil)

var validPrefix = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,31}$`)

// New returns a toolset. It neither starts nor calls anything before its tools are
// needed. It must be closed; a server closes those of its agents.
func New(cfg Config) (*Toolset, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	if cfg.ConnectTimeout <= 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if cfg.CallTimeout <= 0 {
		cfg.CallTimeout = callTimeout
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Toolset{
		cfg: cfg, log: cfg.Log.With("mcp_server", cfg.name()),
		links: map[string]*link{}, known: map[string][]tool.Tool{}, failed: map[string]failure{},
	}, nil
}

func (cfg *Config) check() error {
	given := 0
	for _, at := range []*HTTP{cfg.HTTP, cfg.SSE} {
		if at == nil {
			continue
		}
		given++
		if u, err := url.Parse(at.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return fmt.Errorf("%q should be an address that begins with https:// or http://", at.URL)
		}
	}
	if cfg.Stdio != nil {
		given++
		if cfg.Stdio.Command == "" {
			return errors.New("a server that is a process needs a command")
		}
	}
	if given != 1 {
		return errors.New("set exactly one of Stdio, HTTP and SSE")
	}
	if cfg.Prefix != "" && !validPrefix.MatchString(cfg.Prefix) {
		return fmt.Errorf("the prefix %q should be at most 32 letters, digits and underscores", cfg.Prefix)
	}
	return nil
}

// name returns the name of the server in messages.
func (cfg *Config) name() string {
	switch {
	case cfg.Stdio != nil:
		return cfg.Stdio.Command
	case cfg.SSE != nil:
		return hostOf(cfg.SSE.URL)
	}
	return hostOf(cfg.HTTP.URL)
}

// hostOf returns a URL without parts that may be secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the server"
	}
	return u.Host
}

// Tools returns the current tools of the server. They are listed after connecting,
// and when the server reports a change. While a server is unavailable, its tools
// stay, and their calls fail.
func (s *Toolset) Tools(ctx *tool.Context) ([]tool.Tool, error) {
	key, headers, err := s.headers(ctx)
	if err != nil {
		return nil, err
	}
	tools, err := s.list(ctx, key, headers)
	if err == nil {
		return tools, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, errClosed) {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	s.mu.Lock()
	known, ok := s.known[key]
	s.mu.Unlock()
	if ok {
		s.log.Warn("the tools are those that were last listed", "err", err)
		return known, nil
	}
	return nil, fmt.Errorf("mcp: the tools of %s: %w", s.cfg.name(), err)
}

// Close ends the sessions and the process, if any. It returns when they have ended.
func (s *Toolset) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, l := range s.links {
		l.end()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}
