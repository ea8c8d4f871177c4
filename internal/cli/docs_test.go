package cli

import (
	"os"
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
			code, stdout, stderr := b.deploy(append([]string{args[0], "--dry_run"}, args[1:]...)...)
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
