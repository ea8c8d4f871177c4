package parley_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/registry"
)

// aSealingKey needs no keyset.
const aSealingKey = "MDEyMzQ1Njc4OSBub3QgYSBzZWNyZXQgODlhYmNkZWY="

// A program links what it uses: one that serves an agent in memory is small, and
// says what to import for more.
func TestSmallProgram(t *testing.T) {
	const largest = 20_000_000
	program, size := buildSmall(t, "")
	if size > largest {
		t.Errorf("it has %d bytes, more than %d: see what it links with go list -deps ./testdata/small", size, largest)
	}
	t.Run("faces", func(t *testing.T) { checkFaceSizes(t, size) })
	listed, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./testdata/small").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(listed)) {
		pkg = strings.TrimSpace(pkg)
		for _, module := range []string{
			"cloud.google.com/", "github.com/coreos/", "github.com/go-jose/", "github.com/goccy/", "github.com/googleapis/",
			"github.com/prometheus/", "github.com/tink-crypto/", "go.opentelemetry.io/", "google.golang.org/",
			"database/sql", "encoding/xml", "html/template", "net/smtp", "os/exec", "runtime/pprof", "text/template",
			"github.com/parley-run/parley/model/offline",
		} {
			if pkg == module || strings.HasPrefix(pkg, strings.TrimSuffix(module, "/")+"/") {
				t.Errorf("it links %s", pkg)
			}
		}
	}
	for arg, want := range map[string]string{
		"model=":                   "Hello. <nil>",
		"sessions=sqlite:x.db":     `Sessions.URL: sqlite: is not linked into this program: import _ "github.com/parley-run/parley/session/sqlite"`,
		"sessions=postgres://x/y":  `import _ "github.com/parley-run/parley/session/postgres"`,
		"sessions=agentengine://1": `import _ "github.com/parley-run/parley/session/agentengine"`,
		"sessions=mysql://x":       `Sessions.URL: there is no store for mysql://: it must be like sqlite:///`,
		"artifacts=s3://bucket":    `Artifacts.URL: s3: is not linked into this program: import _ "github.com/parley-run/parley/artifact/s3"`,
		"artifacts=gs://bucket":    `import _ "github.com/parley-run/parley/artifact/gcs"`,
		"model=gemini-2.5-flash":   `import _ "github.com/parley-run/parley/model/gemini"`,
		"model=ollama/llama3.2":    `import _ "github.com/parley-run/parley/model/openai"`,
		"model=claude-sonnet-4-5":  `import _ "github.com/parley-run/parley/model/anthropic"`,
		"model=mystery":            "no provider is linked",
		"scripts=examples/weather": `import _ "github.com/parley-run/parley/typescript"`,
		"offline":                  `Offline: the model without a key is not linked into this program: import _ "github.com/parley-run/parley/model/offline"`,
		"oidc=https://i.example":   `Access.OIDC: OpenID Connect is not linked into this program: import _ "github.com/parley-run/parley/credential/openid"`,
		"ui":                       `import _ "github.com/parley-run/parley/devui"`,
		"admin=9090":               `Network.AdminAddr: the recorder of metrics is not linked into this program: import _ "github.com/parley-run/parley/telemetry"`,
		"content":                  `Telemetry.Content: the export of traces is not linked into this program: import _ "github.com/parley-run/parley/otlp"`,
		"keyfile=keys.json":        `Logins.KeyFile: the reader of keysets is not linked into this program: import _ "github.com/parley-run/parley/credential/keyset"`,
		"key={}":                   `Logins.Key: the reader of keysets is not linked into this program: import _ "github.com/parley-run/parley/credential/keyset"`,
		"kms=aws-kms://arn:x":      `Logins.KMS: the reader of keysets is not linked into this program: import _ "github.com/parley-run/parley/credential/keyset"`,
		"key=" + aSealingKey:       "Hello. <nil>",
	} {
		if arg == "model=" {
			arg = "hello"
		}
		out, _ := exec.CommandContext(t.Context(), program, arg).CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: %s", arg, out)
		}
	}
}

// buildSmall builds the small program with one more source file, unless that is
// empty, and returns the path of the program and its size.
func buildSmall(t *testing.T, source string) (program string, size int64) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "small")
	args := []string{"build", "-ldflags", "-s -w", "-o", program}
	if source != "" {
		file, overlay := filepath.Join(dir, "more.go"), filepath.Join(dir, "overlay.json")
		added, err := filepath.Abs("testdata/small/more.go")
		if err != nil {
			t.Fatal(err)
		}
		doc, err := json.Marshal(map[string]map[string]string{"Replace": {added: file}})
		if err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{file: []byte(source), overlay: doc} {
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, "-overlay", overlay)
	}
	build := exec.CommandContext(t.Context(), "go", append(args, "./testdata/small")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, source)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	return program, info.Size()
}

// checkFaceSizes checks how much each face adds to a program of that size.
func checkFaceSizes(t *testing.T, without int64) {
	t.Helper()
	const most = 1_000_000
	names := registry.Names[face.New]()
	if len(names) < 3 {
		t.Fatalf("the faces are %v", names)
	}
	if _, size := buildSmall(t, withFaces(false, names...)); size-without <= most {
		return // all of them together do not add more than one may
	}
	// The command has the library of MCP for its tools.
	_, without = buildSmall(t, withFaces(true))
	for _, name := range names {
		_, size := buildSmall(t, withFaces(true, name))
		t.Logf("the face %s adds %d bytes", name, size-without)
		if size-without > most {
			t.Errorf("the face %s adds %d bytes, more than %d", name, size-without, most)
		}
	}
}

// withFaces returns a source file that links faces, and perhaps the tools of MCP. Only
// what is used is linked.
func withFaces(mcp bool, names ...string) string {
	const module = "github.com/parley-run/parley/"
	imports, uses := "", ""
	for _, name := range names {
		imports += fmt.Sprintf("\tface%s %q\n", name, module+"internal/face/"+name)
		uses += fmt.Sprintf("\tregistry.Register[face.New](%q, face%s.New)\n", name, name)
	}
	if len(names) > 0 {
		imports += fmt.Sprintf("\t%q\n\t%q\n", module+"internal/face", module+"internal/registry")
	}
	if mcp {
		imports += fmt.Sprintf("\ttoolmcp %q\n", module+"tool/mcp")
		uses += "\tTools = toolmcp.New\n"
	}
	return "package main\n\nimport (\n" + imports + ")\n\nvar Tools any\n\nfunc init() {\n" + uses + "}\n"
}
