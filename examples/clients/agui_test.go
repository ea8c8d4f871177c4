package clients_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	browser := driver(t)
	nodejs.Remember(t, "testdata/agui.test.js")
	nodejs.Install(t, "testdata/agui")
	want := packages(t, "testdata/agui")
	delete(want, "none")
	if diff := cmp.Diff(want, packages(t, "agui")); diff != "" {
		t.Errorf("the test has other packages than the front end (-test +front end):\n%s", diff)
	}
	dir := t.TempDir()
	for _, name := range []string{"callback.html", "index.html", "main.jsx", "package.json", "server.js"} {
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

	web := serve(t)
	drive(t, "agui.test.js", browser, "WEATHER="+page(t, dir, web.URL+"/apps/weather/agui"), "CALENDAR="+page(t, dir, web.URL+"/apps/calendar/agui"))
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
