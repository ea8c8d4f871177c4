// Package clients_test builds the front ends in this directory, and uses them in a
// browser.
package clients_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"

	"github.com/parley-run/parley"
	_ "github.com/parley-run/parley/faces" // what the front ends speak
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestAISDK uses the front end with useChat.
func TestAISDK(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds a front end, and needs a browser")
	}
	browser := testkit.Program(t, "Chromium", "chromium-headless-shell",
		"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
	nodejs.Remember(t, "aisdk/main.jsx", "aisdk/index.html", "aisdk/package.json", "testdata/aisdk.test.js")
	nodejs.Install(t, "aisdk")
	installDriver(t)
	nodejs.Run(t, "aisdk", testkit.Program(t, "npm", "npm", "npm"), "run", "build")
	page := httptest.NewServer(http.FileServer(http.Dir("aisdk")))
	t.Cleanup(page.Close)
	srv, err := parley.Open(t.Context(), parley.Config{Agents: testkit.NewFixture().Apps(), Network: parley.NetworkConfig{AllowOrigins: []string{page.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.Close()
		srv.Close(context.Background())
	})
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "--test", "aisdk.test.js")
	cmd.Dir = "testdata"
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "CHROMIUM="+browser, "PAGE="+page.URL, "API="+web.URL+"/apps/weather/aisdk")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var installing sync.Mutex

// installDriver gets what drives the browser; both front ends need it.
func installDriver(t *testing.T) {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	nodejs.Install(t, "testdata")
}
