package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A new agent in Go compiles, with the packages of this module.
func TestCreateGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a program")
	}
	dir := filepath.Join(t.TempDir(), "my-agent")
	code, stdout, stderr := command(t, nil, "create", dir, "--style", "go")
	if code != ExitOK || !strings.Contains(stdout, "go run .") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	var names []string
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, file.Name())
	}
	if got := strings.Join(names, " "); got != ".gitignore go.mod main.go" {
		t.Errorf("it has %s", got)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", filepath.Join(dir, "main.go"))
	vet.Dir = "../.."
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !strings.HasPrefix(string(mod), "module my-agent\n") {
		t.Errorf("go.mod is %q, %v", mod, err)
	}
}

// The last thing that is said about a new agent is how to see it.
func TestCreateEndsWithTheUI(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my_agent")
	code, stdout, stderr := command(t, nil, "create", dir)
	if code != ExitOK || !strings.HasSuffix(stdout, "\n  parley web "+dir+"\n") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}
