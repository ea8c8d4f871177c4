// Package conformance is a black-box suite: what a client of the server can
// rely on, seen through HTTP alone.
//
// By default it starts a server in the same process. With -base-url it talks to
// one that is running already and serves the applications of package testkit;
// conformance/fixture is such a server. Cases that need a server with settings
// of their own are then left out. With -peer that server is another one, as in
// conformance/peers. With -session-db the server that it starts
// keeps its sessions elsewhere than in memory.
//
// TestCnn_… are the cases of the contract by their numbers.
package conformance

import (
	"context"
	"flag"
	"log/slog"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
)

var (
	baseURL   = flag.String("base-url", "", "the address of a running server; empty to start one")
	peer      = flag.Bool("peer", false, "the running server is not Parley: check what the tests ask for, and not every byte against Parley's OpenAPI document")
	sessionDB = flag.String("session-db", "", "where the server that is started keeps sessions, as in SessionConfig.URL; empty for memory")
)

func TestMain(m *testing.M) {
	if db := os.Getenv(childDB); db != "" {
		if err := beChild(db); err != nil {
			panic(err)
		}
		return
	}
	flag.Parse()
	if *baseURL != "" {
		testkit.Main(m)
		return
	}
	srv, err := parley.Open(context.Background(), parley.Config{
		Agents: testkit.NewFixture().Apps(), Sessions: parley.SessionConfig{URL: *sessionDB}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(srv.Handler())
	*baseURL = web.URL
	inProcess = true
	testkit.Main(m, web.Close, func() { srv.Close(context.Background()) })
}

var inProcess bool

// serve starts a server of the test's own.
func serve(t *testing.T, cfg parley.Config) string {
	t.Helper()
	if !inProcess {
		t.Skip("needs a server with settings of its own")
	}
	if cfg.Agents == nil {
		cfg.Agents = testkit.NewFixture().Apps()
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	return web.URL
}
