package parley

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/parley-run/parley/internal/loopback"
)

// adminAddress is where AdminAddr says: a port alone is one of the loopback
// interface.
func (c *NetworkConfig) adminAddress() (string, error) {
	address := c.AdminAddr
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return "", wrong("Network.AdminAddr", "%q is neither a port nor an address and a port, as in 127.0.0.1:9090", c.AdminAddr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// administer serves operators, who need no login, at AdminAddr: metrics, probes
// and profiles. It does so until end is called; without AdminAddr, not at all.
func (s *Server) administer(ctx context.Context) (end func(), err error) {
	if s.cfg.Network.AdminAddr == "" {
		return func() {}, nil
	}
	address, err := s.cfg.Network.adminAddress()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, inField("Network.AdminAddr", err)
	}
	at, _ := listener.Addr().(*net.TCPAddr)
	srv := &http.Server{
		Handler: s.adminHandler(at.IP.IsLoopback()), ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelWarn),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Log.Error("the admin listener has failed", "err", err)
		}
	}()
	s.adminAt = at
	return func() {
		_ = srv.Close() // does not wait for requests, such as profiles, to end
		<-ended
	}, nil
}

// adminHandler answers operators, and no web pages of others. On a loopback
// interface these could also come under a name of their own.
func (s *Server) adminHandler(local bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.telemetry.Metrics())
	mux.Handle("/debug/pprof/", s.telemetry.Profiles())
	probes := s.handler(nil)
	for _, path := range []string{"/health", "/healthz", "/readyz"} {
		mux.Handle("GET "+path, probes)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case local && !loopback.Is(r.Host):
			http.Error(w, "Forbidden: host not allowed", http.StatusForbidden)
		case foreign(r):
			http.Error(w, "Forbidden: other sites may not call this server", http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// foreign reports whether a browser says that a page of another origin makes the
// request. Such a request is harmful even if the page cannot read the answer: a profile
// costs time.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	origin := r.Header.Get("Origin")
	return origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host
}
