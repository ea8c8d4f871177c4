package clients_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// TestAGUI uses the front end with CopilotKit. Its packages are 700 MB: the test
// installs them without what draws icons, Markdown and diagrams.
func TestAGUI(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it builds a front end, and needs a browser")
	}
	browser := testkit.Program(t, "Chromium", "chromium-headless-shell",
		"chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser", "google-chrome")
	nodejs.Remember(t, "testdata/agui.test.js")
	nodejs.Install(t, "testdata/agui")
	installDriver(t)
	want := packages(t, "testdata/agui")
	delete(want, "none")
	if diff := cmp.Diff(want, packages(t, "agui")); diff != "" {
		t.Errorf("the test has other packages than the front end (-test +front end):\n%s", diff)
	}
	dir := t.TempDir()
	for _, name := range []string{"index.html", "main.jsx", "package.json", "server.js"} {
		text, err := os.ReadFile(filepath.Join("agui", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules, err := filepath.Abs("testdata/agui/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	nodejs.Run(t, dir, testkit.Program(t, "npm", "npm", "npm"), "run", "build")

	srv, err := parley.Open(t.Context(), parley.Config{Agents: testkit.NewFixture().Apps()})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		srv.Close(context.Background())
	})
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "--test", "agui.test.js")
	cmd.Dir = "testdata"
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "CHROMIUM="+browser, "PAGE="+page(t, dir, web.URL+"/apps/weather/agui"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// packages returns what the package of a directory depends on, with the versions.
func packages(t *testing.T, dir string) map[string]string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Dependencies map[string]string }
	if err := json.Unmarshal(doc, &list); err != nil {
		t.Fatal(err)
	}
	return list.Dependencies
}

// page starts the server of a front end, and returns its address.
func page(t *testing.T, dir, agent string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "server.js")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "DO_NOT_TRACK=1", "PORT=0", "PARLEY="+agent)
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}
