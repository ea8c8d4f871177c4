// Package clients_test builds the front ends in this directory, and uses them in a
// browser.
package clients_test

import (
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/faceclient"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/provider"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// serve starts a server with the applications of the fixture, and one that needs a
// login, for pages of other origins.
func serve(t *testing.T, origins ...string) *httptest.Server {
	t.Helper()
	apps := testkit.NewFixture().Apps()
	apps["calendar"] = calendar.Agent(provider.Start(t, provider.Options{}))
	return faceclient.Serve(t, parley.Config{
		Agents: apps, Network: parley.NetworkConfig{AllowOrigins: origins},
		Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
	})
}

var installing sync.Mutex

// driver returns the path of a browser, and gets what drives it.
func driver(t *testing.T) string {
	t.Helper()
	browser := testkit.Program(t, "Chromium", "chromium-headless-shell",
		"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
	nodejs.Remember(t, "testdata/steps.js")
	installing.Lock()
	defer installing.Unlock()
	nodejs.Install(t, "testdata")
	return browser
}

// drive runs a script of tests with a browser.
func drive(t *testing.T, script, browser string, environ ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "--test", script)
	cmd.Dir = "testdata"
	cmd.Env = append(append(cmd.Environ(), "NO_COLOR=1", "CHROMIUM="+browser), environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
