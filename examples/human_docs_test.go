package examples

import (
	"context"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
)

// The page about questions shows code of the approval example, and commands that
// are run against it.
func TestDocumentedQuestions(t *testing.T) {
	approval, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: "approval"}, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	defer approval.Close(context.Background())
	srv := httptest.NewServer(approval.Handler())
	defer srv.Close()
	answer, asked, shown := "", "", 0
	request := regexp.MustCompile(`"id":"([^"]+)","name":"adk_request_confirmation"`)
	for _, block := range blocks(read(t, "../docs/human-in-the-loop.md")) {
		switch block.kind {
		case "ts":
			wantCode(t, block.text, "approval/index.ts")
		case "go":
			wantCode(t, block.text, "../agent/example_test.go")
		case "sh":
			for line := range strings.Lines(block.text) {
				answer = curl(t, srv.URL, strings.Replace(line, "CALL_ID", asked, 1))
				if id := request.FindStringSubmatch(answer); id != nil {
					asked = id[1]
				}
			}
		case "json":
			shown++
			doc := regexp.MustCompile(`"id": "`).ReplaceAllString(block.text, `"id":"`)
			if want := normal(t, doc); !has(normal(t, answer), want) {
				t.Errorf("this is not in the answer:\n%s\n%s", block.text, answer)
			}
		}
	}
	if shown != 2 {
		t.Errorf("%d answers are shown", shown)
	}
}

// The page about MCP shows code of the example.
func TestDocumentedMCP(t *testing.T) {
	for _, block := range blocks(read(t, "../docs/mcp.md")) {
		wantCode(t, block.text, "mcp/main.go")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantCode(t *testing.T, code, file string) {
	t.Helper()
	if !strings.Contains(read(t, file), code) {
		t.Errorf("not in %s:\n%s", file, code)
	}
}

// has reports whether one value is somewhere in another.
func has(in, want any) bool {
	if reflect.DeepEqual(in, want) {
		return true
	}
	switch in := in.(type) {
	case []any:
		for _, v := range in {
			if has(v, want) {
				return true
			}
		}
	case map[string]any:
		for _, v := range in {
			if has(v, want) {
				return true
			}
		}
	}
	return false
}
