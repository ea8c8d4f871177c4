// Package faceclient runs the tests of published clients on a server with the
// applications of the fixture, and one that needs a login.
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
// its directory. BASE in its environment is the address of the server, and REDIRECT
// that of the client for logins.
func Run(t *testing.T, script string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it installs packages")
	}
	dir, name := filepath.Split(script)
	nodejs.Install(t, dir)
	login := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}})
	apps := testkit.NewFixture().Apps()
	apps["calendar"] = calendar.Agent(login)
	srv, err := parley.Open(t.Context(), parley.Config{Agents: apps, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "--test", name) //nolint:gosec // of a test
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "DO_NOT_TRACK=1", "BASE="+web.URL, "REDIRECT="+redirect)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
