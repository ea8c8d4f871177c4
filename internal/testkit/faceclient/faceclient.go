// Package faceclient starts servers for clients of the protocols, and runs the tests of
// published clients on one with the applications of the fixture and one that needs a
// login.
package faceclient

import (
	"context"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/credential/openid" // logins with OpenID Connect
	_ "github.com/parley-run/parley/faces"             // the protocols of the clients
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// redirect is where the provider sends users back to. Nothing listens there: the
// scripts read the address.
const redirect = "http://127.0.0.1:9/callback"

// Run runs a script of tests with Node.js, and with the packages of the lock file in
// its directory. BASE in its environment is the address of the server, which completes
// logins itself unless the client does, and REDIRECT that of such a client.
func Run(t *testing.T, script string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it installs packages")
	}
	dir, name := filepath.Split(script)
	nodejs.Install(t, dir)
	web := ServeAt(t, func(address string) parley.Config { return WithLogin(t, address) })
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "--test", name) //nolint:gosec // of a test
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "DO_NOT_TRACK=1", "BASE="+web.URL, "REDIRECT="+redirect)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// WithLogin returns the configuration of a server at an address, with the applications
// of the fixture and a calendar, whose provider it starts.
func WithLogin(t *testing.T, address string) parley.Config {
	t.Helper()
	login := provider.Start(t, provider.Options{AutoLogin: "ann", RedirectURIs: []string{redirect, address + "/oauth/callback"}})
	apps := testkit.NewFixture().Apps()
	apps["calendar"] = calendar.Agent(login)
	local := []string{"127.0.0.0/8", "::1/128"}
	return parley.Config{
		Agents: apps, Network: parley.NetworkConfig{PublicURL: address, AllowPrivateWebhooks: local},
		Logins: parley.LoginConfig{AllowPrivate: local},
	}
}

// Serve starts a server.
func Serve(t *testing.T, cfg parley.Config) *httptest.Server {
	t.Helper()
	return ServeAt(t, func(string) parley.Config { return cfg })
}

// ServeAt starts a server whose configuration depends on its address.
func ServeAt(t *testing.T, config func(address string) parley.Config) *httptest.Server {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	srv, err := parley.Open(t.Context(), config("http://"+web.Listener.Addr().String()))
	if err != nil {
		web.Close()
		t.Fatal(err)
	}
	web.Config.Handler = srv.Handler()
	web.Start()
	t.Cleanup(func() {
		web.CloseClientConnections() // of clients that still read a stream
		web.Close()
		srv.Close(context.Background())
	})
	return web
}
