package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// grace is how long active runs may go on when the server is told to stop.
var grace = 10 * time.Second

const (
	defaultPort = 8080

	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Run listens and serves until ctx is done or the process gets SIGINT or
// SIGTERM. It then takes no more requests, lets active runs end for a while,
// cancels those that do not, and returns nil. A second signal ends the process
// at once.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // from then on, a signal is deadly again

	host, port, err := s.address()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("parley: %w", err)
	}
	return s.Serve(ctx, listener)
}

// address is where Run listens.
func (s *Server) address() (host string, port int, err error) {
	host, port = "127.0.0.1", s.cfg.Port
	if port != 0 {
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
	return "", port, nil
}

// Serve is Run on a listener of the caller's, until ctx is done. On a loopback
// address, requests to any other host name are refused.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	address, _ := listener.Addr().(*net.TCPAddr)
	loopback := address != nil && address.IP.IsLoopback()
	srv := &http.Server{
		Handler:           s.handler(loopback),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
	}
	if address != nil {
		fmt.Fprintf(s.cfg.Stdout, "API server started on port %d\n", address.Port)
	}
	if !loopback {
		fmt.Fprintln(s.cfg.Stdout, "Listening on all interfaces: the platform in front must check who may call")
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
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

// shutdown ends runs and connections together: a connection ends when its run
// has, and no run is left behind when the last connection is gone.
func (s *Server) shutdown(srv *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	runsEnded := make(chan struct{})
	go func() {
		s.engine.Shutdown(ctx)
		close(runsEnded)
	}()
	late, cancelLate := context.WithTimeout(context.Background(), grace+2*time.Second)
	defer cancelLate()
	if srv.Shutdown(late) != nil {
		_ = srv.Close() // what is left of it is not worth waiting for
	}
	<-runsEnded
}

// Close ends what a server does that is used through Handler or Stream: it
// takes no more runs, lets active ones end until ctx is done, and cancels the
// rest.
func (s *Server) Close(ctx context.Context) { s.engine.Shutdown(ctx) }
