package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/server"
	"github.com/parley-run/parley/internal/sse"
)

// grace is how long active runs may continue when the server is told to stop.
var grace = 10 * time.Second

const (
	defaultPort = 8080

	headerTimeout  = 10 * time.Second
	requestTimeout = 2 * time.Minute // to send all of it; answers have no limit
	idleTimeout    = 2 * time.Minute
)

// Run listens and serves until ctx is done or the process gets SIGINT or
// SIGTERM. It then accepts no more requests, waits up to 10 seconds for active runs
// to end, and returns nil. Runs that have not ended by then are left to the other
// servers that share the store, or cancelled if the store is not shared. A second
// signal ends the process at once. If it cannot listen or serve, it returns an error.
func (s *Server) Run(ctx context.Context) error {
	signalled, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(signalled, func() {
		stop() // a signal is deadly again before the server begins to end
		cancel()
	})

	host, port, err := s.address()
	if err != nil {
		s.Close(ctx)
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		s.Close(ctx)
		return fmt.Errorf("parley: %w", err)
	}
	return s.Serve(ctx, listener)
}

// address is where Run listens.
func (s *Server) address() (host string, port int, err error) {
	host, port = cmp.Or(s.cfg.Network.Host, "127.0.0.1"), s.cfg.Network.Port
	if port != 0 || s.cfg.Network.Host != "" {
		return host, port, nil
	}
	fromEnv := os.Getenv("PORT") //nolint:forbidigo // the contract of hosting platforms
	if fromEnv == "" {
		return host, defaultPort, nil
	}
	port, err = strconv.Atoi(fromEnv)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("parley: the environment variable PORT is %q, which is not a port", fromEnv)
	}
	if s.cfg.Access.Mode != AccessLocal {
		host = "" // all interfaces
	}
	return host, port, nil
}

// local reports whether the server is only for programs on the same machine,
// as far as its settings say.
func (c *Config) local() bool { return c.Access.Mode == "" || c.Access.Mode == AccessLocal }

// Serve is like Run, but accepts connections on listener, which it closes, and does
// not handle signals. With AccessLocal, it fails if other machines can reach the
// listener. On a loopback address, if the mode of Access is empty or AccessLocal, it
// refuses requests to other host names, except those in NetworkConfig.AllowHosts.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	address, _ := listener.Addr().(*net.TCPAddr)
	endAdmin, err := s.administer(ctx)
	if err == nil && s.cfg.Access.Mode == AccessLocal && address != nil && !address.IP.IsLoopback() {
		endAdmin()
		err = fmt.Errorf("others reach %s, but Access is local, which lets programs on the same machine do everything: choose another one", address)
	}
	if err != nil {
		_ = listener.Close()
		s.Close(context.WithoutCancel(ctx))
		return fmt.Errorf("parley: %w", err)
	}
	defer endAdmin()
	handler := s.handler(address)
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		IdleTimeout:       idleTimeout,
		ConnContext:       sse.WithConn,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
	}
	s.announce(address, handler.ListFaces())
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(server.Listener(listener)) }()
	select {
	case err := <-failed:
		s.Close(context.WithoutCancel(ctx))
		return fmt.Errorf("parley: %w", err)
	case <-ctx.Done():
	}
	s.shutdown(srv) //nolint:contextcheck // that ctx is done is why it is called
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("parley: %w", err)
	}
	return nil
}

// announce tells where the server listens and what it serves. address is nil
// when it does not listen on TCP.
func (s *Server) announce(address *net.TCPAddr, faces []*face.Face) {
	out := s.cfg.Stdout
	if address != nil {
		fmt.Fprintf(out, "API server started on port %d\n", address.Port)
	}
	if s.apps.found != nil {
		fmt.Fprintf(out, "Agent directory: %s\n", s.apps.found.Dir())
	}
	if address != nil && !address.IP.IsLoopback() {
		where, who := "all interfaces", "the platform in front must check who may call"
		if !address.IP.IsUnspecified() {
			where = address.IP.String()
		}
		switch s.cfg.Access.Mode {
		case AccessPublic:
			who = "anyone who can reach this machine may call"
		case AccessOIDC:
			who = "callers need an identity token"
		case AccessKeys:
			who = "callers need an API key"
		default:
		}
		fmt.Fprintf(out, "Listening on %s: %s\n", where, who)
	}
	for _, name := range s.apps.Names() {
		fmt.Fprintf(out, "%s: %s\n", name, s.apps.state(name))
		for _, missing := range s.apps.missing(name) {
			fmt.Fprintf(out, "%s: %s\n", name, missing)
		}
	}
	root := ""
	if address != nil {
		open := *address
		if open.IP.IsUnspecified() {
			open.IP = net.IPv4(127, 0, 0, 1)
		}
		root = "http://" + open.String()
		if s.cfg.UI.Enabled {
			fmt.Fprintln(out, "Open the developer UI in a browser:")
		}
		fmt.Fprintln(out, root)
		if s.cfg.UI.Dir != "" {
			fmt.Fprintf(out, "UI in %s: %s/dev-ui/\n", s.cfg.UI.Dir, root)
		}
	}
	if s.cfg.Verbose {
		for _, f := range faces {
			fmt.Fprintf(out, "%s: %s%s\n", f.Title, root, f.Path)
		}
	}
	if s.adminAt != nil {
		fmt.Fprintf(out, "Metrics and profiles: http://%s\n", s.adminAt)
	}
}

// state is a line about whether an application works.
func (a *apps) state(name string) string {
	root, err := a.Agent(name)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return strings.TrimPrefix(line, "the application ")
	}
	count := tools(root)
	if count == 1 {
		return fmt.Sprintf("ready, %s with 1 tool", root.Name())
	}
	return fmt.Sprintf("ready, %s with %d tools", root.Name(), count)
}

// missing lists what models of an application cannot be called without, such as a key.
func (a *apps) missing(name string) (list []string) {
	root, err := a.Agent(name)
	if err != nil {
		return nil
	}
	for _, m := range agentrt.Models(root) {
		known, ok := m.(interface{ Ready() error })
		if !ok {
			continue
		}
		if err := known.Ready(); err != nil && !slices.Contains(list, err.Error()) {
			list = append(list, err.Error())
		}
	}
	return list
}

// tools counts the tools of an agent and of those below it.
func tools(a *agent.Agent) int {
	info, _ := agentrt.InfoOf(a)
	count := len(info.Tools)
	for _, sub := range a.SubAgents() {
		count += tools(sub)
	}
	return count
}

// shutdown ends runs and connections together: a connection ends when its run
// has, and no run is left behind when the last connection is gone.
func (s *Server) shutdown(srv *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), grace-grace/5) // the rest is for saying so
	defer cancel()
	slow := time.AfterFunc(grace/10, func() { // a person at a terminal would wonder
		s.cfg.Log.Info("waiting for runs and requests to end; a second signal ends the server at once", "up_to", grace)
	})
	defer slow.Stop()
	runsEnded := make(chan struct{})
	go func() {
		s.scheduler.Close()
		s.inbox.Close()
		s.engine.Shutdown(ctx)
		s.giveBack()
		close(runsEnded)
	}()
	defer s.flush() // when the last request has been answered
	late, cancelLate := context.WithTimeout(context.Background(), grace)
	defer cancelLate()
	if srv.Shutdown(late) != nil {
		_ = srv.Close() // what is left of it is not worth waiting for
	}
	select {
	case <-runsEnded:
	case <-late.Done():
		// The database is unavailable, most likely. Others take over when the leases
		// have ended.
		s.cfg.Log.Warn("the server ends before its runs could be handed over")
	}
}

// Close ends a server that neither Run nor Serve has ended: it accepts no more runs,
// lets active ones end until ctx is done, and hands the rest over to servers that
// share the store, or cancels them if none can.
func (s *Server) Close(ctx context.Context) {
	s.scheduler.Close()
	s.inbox.Close()
	s.engine.Shutdown(ctx)
	s.release() //nolint:contextcheck // what is left to do has its own time
}

// release gives back what was opened.
func (s *Server) release() {
	if s.evals != nil {
		s.evals.Close()
	}
	s.flush()
	s.giveBack()
}

// flush exports the last spans.
func (s *Server) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if s.telemetry != nil {
		s.telemetry.Shutdown(ctx)
	}
}

func (s *Server) giveBack() {
	s.scheduler.Close()
	s.inbox.Close()
	s.outbox.Close()
	s.peer.Close()
	if s.recorder != nil {
		s.recorder.Close()
	}
	if s.apps.found != nil {
		s.apps.found.Close()
	}
	for name, root := range s.cfg.Agents {
		if err := root.Close(); err != nil {
			s.cfg.Log.Warn("could not close the toolsets of an application", "app", name, "err", err)
		}
	}
	if err := s.artifacts.Close(); err != nil {
		s.cfg.Log.Error("could not close the artifact store", "err", err)
	}
	if s.store.Closer == nil {
		return
	}
	if err := s.store.Close(); err != nil {
		s.cfg.Log.Error("could not close the session store", "err", err)
	}
	if s.keys.Closer != nil {
		if err := s.keys.Close(); err != nil {
			s.cfg.Log.Error("could not close the store of API keys", "err", err)
		}
	}
}
