package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// TestConnect runs the code that the developer UI shows for other clients.
func TestConnect(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages")
	}
	const others = "others"
	nodejs.Remember(t, filepath.Join(others, "package.json"), filepath.Join(others, "connect.test.js"), "../web/src/log/connect.ts", "../cmd", "../internal")
	nodejs.Install(t, others)
	// The runtime of CopilotKit needs packages of its own.
	const kit = "../internal/face/agui/testdata/copilotkit"
	copilotkit := filepath.Join(others, "node_modules", ".copilotkit")
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc", "none/package.json", "none/index.js"} {
		text, err := os.ReadFile(filepath.Join(kit, name))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(copilotkit, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	nodejs.Install(t, copilotkit)
	cmd := exec.CommandContext(t.Context(), nodejs.Node(t), "--test", "connect.test.js")
	cmd.Dir = others
	cmd.Env = append(cmd.Environ(), "NO_COLOR=1", "DO_NOT_TRACK=1", "COPILOTKIT=node_modules/.copilotkit", "BASE="+serve(t, provider.Start(t, provider.Options{})))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
