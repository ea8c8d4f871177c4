package clients

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/internal/testkit/provider"
)

const dir = "typescript"

func TestMain(m *testing.M) { testkit.Main(m) }

// TestTypeScriptPackage builds the package, and looks at what would be published.
func TestTypeScriptPackage(t *testing.T) {
	build(t)
	npm := testkit.Program(t, "npm", "npm", "npm")
	list := nodejs.Run(t, dir, npm, "pack", "--dry-run", "--json", "--ignore-scripts")
	for _, want := range []string{`"package.json"`, `"README.md"`, `"dist/index.js"`, `"dist/index.d.ts"`, `"dist/schema.d.ts"`} {
		if !strings.Contains(list, want) {
			t.Errorf("the package has no %s:\n%s", want, list)
		}
	}
	for _, no := range []string{`.map"`, `"src/`, `"test/`, "node_modules", `"package-lock.json"`} {
		if strings.Contains(list, no) {
			t.Errorf("the package has %s:\n%s", no, list)
		}
	}
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(dir, "dist"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(here)) || bytes.Contains(text, []byte("sourceMappingURL")) {
			t.Errorf("%s tells where it was built", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTypeScript runs the tests of the package, and what its README shows.
func TestTypeScript(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	build(t)
	shown(t)
	nodejs.Run(t, dir, nodejs.Node(t), tsc, "-p", "test")
	login := provider.Start(t, provider.Options{RequirePKCE: true, RedirectURIs: []string{redirect}})
	nodejs.Vitest(t, dir, "vitest.config.ts", "BASE="+serve(t, login), "REDIRECT="+redirect)
}

const tsc = "node_modules/typescript/bin/tsc"

var built bool

// build gets the tools, and makes the package.
func build(t *testing.T) {
	t.Helper()
	nodejs.Remember(t, filepath.Join(dir, "src"), filepath.Join(dir, "test"), filepath.Join(dir, "README.md"), filepath.Join(dir, "package.json"),
		filepath.Join(dir, "tsconfig.json"), "../api", "../cmd", "../internal", "../examples")
	if built {
		return
	}
	nodejs.Install(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, "dist")); err != nil {
		t.Fatal(err)
	}
	nodejs.Run(t, dir, nodejs.Node(t), "node_modules/openapi-typescript/bin/cli.js", "../../api/openapi.json", "-o", "src/schema.ts")
	nodejs.Run(t, dir, nodejs.Node(t), tsc)
	built = true
}

var example = regexp.MustCompile("(?ms)^```ts\n(.*?)^```")

// shown writes what the README shows into files, which use the package as others
// do.
func shown(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "test", "readme")
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o750); err != nil {
		t.Fatal(err)
	}
	for i, found := range example.FindAllSubmatch(text, -1) {
		if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("%d.ts", i)), found[1], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const redirect = "http://127.0.0.1:9/callback"

// serve starts the server as users have it, with some agents, and returns its
// address.
func serve(t *testing.T, login *provider.Provider) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testkit.Build(t, "../cmd/parley"), "api_server", "--port=0", "--offline", "--agent_dir", agents(t), "--allow_private_logins", "127.0.0.0/8")
	id, secret := login.Client()
	cmd.Env = append(os.Environ(), "CALENDAR_AUTH_URL="+login.AuthURL(), "CALENDAR_TOKEN_URL="+login.TokenURL(),
		"CALENDAR_CLIENT_ID="+id, "CALENDAR_CLIENT_SECRET="+secret, "CALENDAR_API="+login.API())
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
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http://") {
			return lines.Text()
		}
	}
	t.Fatal("the server says nothing")
	return ""
}

// agents is a directory with the agents that the tests talk to.
func agents(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	for name, from := range map[string]string{
		"weather": "../examples/weather", "approval": "../examples/approval", "teller": dir + "/test/agents/teller", "asker": dir + "/test/agents/asker", "calendar": "../testdata/login/custom",
	} {
		if err := os.CopyFS(filepath.Join(to, name), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	// The offline model stands in for models with known names only.
	file := filepath.Join(to, "calendar", "index.ts")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(source, []byte("'scripted'"), []byte("'gemini-2.5-flash'")), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}
