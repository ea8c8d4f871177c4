package api_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/parley-run/parley/api"
)

// TestVersions: the document, the chart and the client have one version, which is
// that of the tag of a release.
func TestVersions(t *testing.T) {
	want := load(t).Info.Version
	chart := readFile(t, "../charts/parley/Chart.yaml")
	for _, name := range []string{"version", "appVersion"} {
		if m := regexp.MustCompile(`(?m)^` + name + `: (.+)$`).FindStringSubmatch(chart); m == nil || m[1] != want {
			t.Errorf("%s of the chart is %q, version of the API document %s", name, m, want)
		}
	}
	var client struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal([]byte(readFile(t, "../clients/typescript/package.json")), &client); err != nil || client.Version != want {
		t.Errorf("version of the TypeScript client is %q (%v), of the API document %s", client.Version, err, want)
	}
	tag := os.Getenv("PARLEY_RELEASE")
	if tag == "" {
		return
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(tag, "v"), "-") // v0.1.0-rc.1 is before 0.1.0
	if version != want {
		t.Errorf("the tag is %s, the version of the API document %s", tag, want)
	}
	if !strings.Contains(readFile(t, "../CHANGELOG.md"), "\n## ["+want+"]") {
		t.Errorf("CHANGELOG.md has no section [%s]", want)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The document in JSON says what the one in YAML says.
func TestOpenAPIJSON(t *testing.T) {
	t.Parallel()
	want, err := yaml.YAMLToJSON([]byte(readFile(t, "openapi.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, want, "", " "); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSpace(api.OpenAPI()), bytes.TrimSpace(indented.Bytes())) {
		t.Error("openapi.json differs from openapi.yaml: run make api")
	}
}
