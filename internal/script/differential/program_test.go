package differential

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/parley-run/parley/internal/script"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// installPackages installs the packages of testdata, which the tests compare with.
func installPackages(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it installs packages")
	}
	nodejs.Install(t, "testdata")
}

// The helpers of @google/adk that need no server return here what they return
// in Node.js.
func TestHelpers(t *testing.T) {
	installPackages(t)
	dir := programDir(t, "helpers.ts", nil)
	theirs, ours := lines(programUnderNode(t, dir)), lines(programUnderParley(t, dir))
	if diff := lineDiff(theirs, ours); diff != "" {
		t.Errorf("from @google/adk (-) to Parley (+):\n%s", diff)
	}
	if !strings.Contains(theirs, `"name": "end"`) {
		t.Errorf("the program did not reach its end:\n%s", theirs)
	}
}

// programDir is an application whose agent imports a program of testdata. In the
// files that the program needs beside it, DIR stands for the directory.
func programDir(t *testing.T, program string, more map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", program))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{
		"agent.ts":   `import "./program"; import { SequentialAgent } from "@google/adk"; export const rootAgent = new SequentialAgent({ name: "a", subAgents: [] });`,
		"program.ts": string(text),
	}
	for name, text := range more {
		files[name] = strings.ReplaceAll(text, "DIR", dir)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// programUnderNode returns what a program prints as REQUEST in Node.js.
func programUnderNode(t *testing.T, dir string) (printed []any) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", "node_modules", ".differential", "program.mjs")) // packages are found from there
	if err != nil {
		t.Fatal(err)
	}
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{filepath.Join(dir, "program.ts")}, Outfile: file, Write: true,
		Bundle: true, Packages: api.PackagesExternal, Platform: api.PlatformNode, Format: api.FormatESModule,
	})
	if len(built.Errors) > 0 {
		t.Fatal(built.Errors)
	}
	for line := range strings.Lines(nodejs.Run(t, "testdata", nodejs.Node(t), file)) {
		if text, ok := strings.CutPrefix(line, "REQUEST "); ok {
			var one any
			if err := json.Unmarshal([]byte(text), &one); err != nil {
				t.Fatal(err)
			}
			printed = append(printed, one)
		}
	}
	return printed
}

// programUnderParley returns what it prints here.
func programUnderParley(t *testing.T, dir string) []any {
	t.Helper()
	printed := &requests{byApp: map[string][]any{}}
	apps, err := script.Load(t.Context(), script.Options{Dir: dir, Log: slog.New(printed)})
	if err != nil {
		t.Fatal(err)
	}
	defer apps.Close()
	for _, name := range apps.Names() {
		if _, _, err := apps.Agent(name); err != nil {
			t.Fatal(err)
		}
	}
	printed.mu.Lock()
	defer printed.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Values(printed.byApp))...)
}

func lines(values []any) string {
	var out strings.Builder
	for _, one := range values {
		fmt.Fprintln(&out, indented(one))
	}
	return out.String()
}
