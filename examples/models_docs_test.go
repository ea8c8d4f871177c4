package examples

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/event"
)

// TestDocumentedModels makes sure that the code of the page about models runs:
// that in Go is in the examples, that in TypeScript is served.
func TestDocumentedModels(t *testing.T) {
	examples, err := os.ReadFile("../example_models_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, block := range blocks(string(page)) {
		seen[block.kind]++
		switch block.kind {
		case "go":
			if !strings.Contains(string(examples), block.text) {
				t.Errorf("not in example_models_test.go:\n%s", block.text)
			}
		case "ts":
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(block.text), 0o600); err != nil {
				t.Fatal(err)
			}
			srv, err := parley.Open(t.Context(), parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}, Offline: true})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close(context.Background())
			for ev, err := range srv.Stream(t.Context(), parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "Hello")}) {
				if err != nil || ev.ErrorCode != "" || ev.Content.Text() == "" {
					t.Errorf("got %+v, %v", ev, err)
				}
			}
		}
	}
	if seen["go"] != 3 || seen["ts"] != 1 {
		t.Errorf("the page has %v", seen)
	}
}
