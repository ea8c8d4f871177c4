package parley_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// aSealingKey needs no keyset.
const aSealingKey = "MDEyMzQ1Njc4OSBub3QgYSBzZWNyZXQgODlhYmNkZWY="

// A program links what it uses: one that serves an agent in memory is small, and
// says what to import for more.
func TestSmallProgram(t *testing.T) {
	const largest = 20_000_000
	program := filepath.Join(t.TempDir(), "small")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, "./testdata/small")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > largest {
		t.Errorf("it has %d bytes, more than %d: see what it links with go list -deps ./testdata/small", info.Size(), largest)
	}
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
		"sessions=mysql://x":       `Sessions.URL: it must be empty for memory`,
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
