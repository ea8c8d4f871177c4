package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// TestInstalledFromNPM installs the packages as npm would after they were
// published, and starts the program. A small program takes the part of parley: the
// packages do not look into it.
func TestInstalledFromNPM(t *testing.T) {
	root := t.TempDir()
	dist := filepath.Join(root, "dist")
	source := filepath.Join(root, "main.go")
	program := "package main\nimport (\"fmt\"; \"os\")\nfunc main() { fmt.Println(os.Args[1:]); os.Exit(7) }\n"
	must(t, os.MkdirAll(dist, 0o700))
	must(t, os.WriteFile(source, []byte(program), 0o600))
	nodejs.Run(t, root, "go", "build", "-o", filepath.Join(dist, "parley"), source)
	must(t, os.WriteFile(filepath.Join(dist, "metadata.json"), []byte(`{"version": "1.2.3"}`), 0o600))
	must(t, os.WriteFile(filepath.Join(dist, "artifacts.json"), fmt.Appendf(nil,
		`[{"type": "Binary", "path": "dist/parley", "goos": %q, "goarch": %q}, {"type": "Archive", "path": "dist/none"},
		  {"type": "Binary", "path": "dist/parley", "goos": "windows", "goarch": "riscv64"}]`, runtime.GOOS, runtime.GOARCH), 0o600))
	for _, file := range []string{"LICENSE", "THIRD_PARTY_NOTICES.txt"} {
		must(t, os.WriteFile(filepath.Join(root, file), []byte("terms"), 0o600))
	}
	must(t, assemble(dist, filepath.Join(dist, "npm")))

	npm := testkit.Program(t, "npm", "npm", "npm")
	platform, arch := nodeNames(runtime.GOOS, runtime.GOARCH)
	install := filepath.Join(root, "install")
	must(t, os.MkdirAll(install, 0o700))
	args := []string{"install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=optional"}
	for _, dir := range []string{"parley", "parley-" + platform + "-" + arch} {
		tarball := strings.TrimSpace(nodejs.Run(t, filepath.Join(dist, "npm", dir), npm, "pack", "--silent", "--pack-destination", root))
		args = append(args, filepath.Join(root, tarball))
	}
	nodejs.Run(t, install, npm, args...)

	cmd := exec.CommandContext(t.Context(), filepath.Join(install, "node_modules", ".bin", "parley"), "web", "my agent")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || string(out) != "[web my agent]\n" {
		t.Errorf("parley web 'my agent': %v\n%s", err, out)
	}

	must(t, os.RemoveAll(filepath.Join(install, "node_modules", "@parley-run", "parley-"+platform+"-"+arch)))
	out, err = exec.CommandContext(t.Context(), cmd.Path).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not installed") {
		t.Errorf("without the program: %v\n%s", err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
