// Package logins is a black-box suite: what a client of the server can rely on
// when tools ask its user to log in. The provider and the protected API are real
// ones in the test process; the server is reached over HTTP, on every store.
//
// Cases that are about the death of a server start it as a process: the test
// binary itself.
package logins

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

func TestMain(m *testing.M) {
	if os.Getenv("PARLEY_TEST_SERVER") == "1" {
		os.Exit(serve())
	}
	testkit.Main(m, pgtest.Cleanup)
}

// serve is the server as a process of its own.
func serve() int {
	go func() { // the end of standard input is the end of the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	at := site{os.Getenv("PARLEY_TEST_ISSUER"), os.Getenv("PARLEY_TEST_CLIENT"), os.Getenv("PARLEY_TEST_SECRET")}
	agents, err := applications(at)
	if err == nil {
		var srv *parley.Server
		srv, err = parley.Open(context.Background(), parley.Config{
			Agents:   agents,
			Scripts:  parley.ScriptConfig{Dir: os.Getenv("PARLEY_TEST_AGENTS"), AppName: os.Getenv("PARLEY_TEST_APP"), CacheDir: os.Getenv("PARLEY_TEST_CACHE")},
			Models:   map[string]model.Model{"scripted": scripted.Func(decide)},
			Sessions: parley.SessionConfig{URL: os.Getenv("PARLEY_TEST_DB"), RunLease: time.Minute}, // kill ends it
			Logins:   parley.LoginConfig{Key: os.Getenv("PARLEY_TEST_KEY"), AllowPrivate: loopback},
			Network:  parley.NetworkConfig{Host: "127.0.0.1"},
		})
		if err == nil {
			err = srv.Run(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// loopback is where the provider is.
var loopback = []string{"127.0.0.0/8", "::1/128"}

// places are where sessions and logins may be kept.
var places = []string{"memory", "sqlite", "postgres"}

// open is what a configuration needs for a place.
func open(t *testing.T, place string) (url, key string) {
	t.Helper()
	switch place {
	case "sqlite":
		return "sqlite://" + filepath.Join(t.TempDir(), "parley.db"), ""
	case "postgres":
		return pgtest.Quick(t).Database(t), newKey()
	}
	return "", ""
}

func newKey() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return base64.StdEncoding.EncodeToString(key)
}

// redirect is the redirect URI. Nothing listens there.
const redirect = "http://localhost:9/callback"

// everywhere runs a test on every store, with a provider and a server for each.
func everywhere(t *testing.T, test func(w *world), change ...func(*provider.Options, *parley.Config)) {
	t.Helper()
	for _, place := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			var cfg parley.Config
			cfg.Sessions.URL, cfg.Logins.Key = open(t, place)
			test(newWorld(t, cfg, change...))
		})
	}
}

// world is a provider and a server.
type world struct {
	*testing.T
	provider *provider.Provider
	server   *parley.Server
	base     string
	database string
	log      bytes.Buffer // of the server
}

func newWorld(t *testing.T, cfg parley.Config, change ...func(*provider.Options, *parley.Config)) *world {
	t.Helper()
	options := provider.Options{RedirectURIs: []string{redirect}, RequirePKCE: true}
	w := &world{T: t, database: cfg.Sessions.URL}
	cfg.Logins.AllowPrivate = loopback
	cfg.Log = slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, f := range change {
		f(&options, &cfg)
	}
	w.provider = provider.Start(t, options)
	id, secret := w.provider.Client()
	var err error
	if cfg.Agents, err = applications(site{w.provider.Issuer(), id, secret}); err != nil {
		t.Fatal(err)
	}
	if w.server, err = parley.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(w.server.Handler())
	w.base = web.URL
	t.Cleanup(func() {
		web.Close()
		w.server.Close(context.Background())
	})
	return w
}
