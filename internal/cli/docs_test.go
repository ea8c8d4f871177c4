package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedAccess runs the commands of the page about access that make and
// list keys, and has the others read.
func TestDocumentedAccess(t *testing.T) {
	text, err := os.ReadFile("../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	database, ran := filepath.ToSlash(filepath.Join(t.TempDir(), "parley.db")), 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "parley ") {
			continue
		}
		args := strings.Fields(strings.ReplaceAll(line, "/var/lib/parley.db", database))[1:]
		if args[0] == "api_server" {
			cmd, rest, err := newRoot(&Env{}).Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
		} else if code, _, stderr := command(t, nil, args...); code != ExitOK {
			t.Errorf("%s: %s", line, stderr)
		}
		ran++
	}
	if ran < 6 {
		t.Errorf("only %d commands were found", ran)
	}
}
