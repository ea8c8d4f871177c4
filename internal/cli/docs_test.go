package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands that the page about hosting shows are understood, and call what
// it says they call.
func TestDocumentedDeployments(t *testing.T) {
	page, err := os.ReadFile("../../docs/hosting.md")
	if err != nil {
		t.Fatal(err)
	}
	ran, said := 0, ""
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "parley deploy "):
			b := newBench(t)
			b.file("my_agent/index.ts", "")
			args := strings.Fields(line)[2:]
			flags := []string{args[0], "--dry_run"}
			if args[0] == "agentcore" { // a release builds itself there
				b.file("parley-arm64", programARM)
				flags = append(flags, "--binary=parley-arm64")
			}
			code, stdout, stderr := b.deploy(append(flags, args[1:]...)...)
			if code != ExitOK {
				t.Errorf("%s: exit code %d: %s", line, code, stderr)
			}
			said = b.masked(stdout)
			ran++
		case strings.HasPrefix(line, "gcloud run deploy "):
			if want := strings.Replace(line, "<temporary directory>", "TMP", 1); !strings.Contains(said, "$ "+want+"\n") {
				t.Errorf("%s is not what is called: %s", want, said)
			}
			ran++
		}
	}
	if ran < 7 {
		t.Errorf("only %d commands were found", ran)
	}
}

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
		if args[0] == "api_server" || args[0] == "web" {
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
