package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTriggerCommands(t *testing.T) {
	s := newService(t, nil)
	do, contains := s.command(t, []string{"PARLEY_SERVER=" + s.url}, "triggers")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	contains(do(ExitUsage, "create", "x"), "--check")
	contains(do(ExitUsage, "create", "x", "--check", "secret", "--match", "body.ref"), "--match")
	contains(do(ExitFailure, "create", "x", "--check", "secret", "--message", "{{ nothing }}"), "message")
	made := do(ExitOK, "create", "issues", "--check", "github", "--event", "issues.opened,push", "--match", "body.ref=main", "--secret_file", secret,
		"--session", "issue-{{ body.n }}", "--message", "New: {{ body.title }}", "--user", "triage")
	contains(made, "issues.opened, push", "triage", "issue-{{ body.n }}", s.url+"/apps/assistant/triggers/issues", "0123456789abcdef", "not shown again")
	contains(do(ExitOK, "list"), "issues", "github", "ready", "api")
	contains(do(ExitOK, "list", "--json"), `"match":{"body.ref":["main"]}`)
	contains(do(ExitOK, "pause", "issues"), "paused")
	contains(do(ExitOK, "resume", "issues", "--json"), `"paused":false`)
	if rotated := do(ExitOK, "rotate", "issues"); strings.Contains(rotated, "0123456789abcdef") || !strings.Contains(rotated, "not shown again") {
		t.Error(rotated)
	}
	shown := do(ExitOK, "show", "issues")
	if contains(shown, "New: {{ body.title }}"); strings.Contains(shown, "secret") {
		t.Error(shown)
	}
	do(ExitOK, "delete", "issues")
	contains(do(ExitFailure, "show", "issues"), "not found")
	code, _, stderr := s.do(t, []string{"PARLEY_SESSION_DB_URL=" + s.database, "PARLEY_APP_NAME=assistant"}, "triggers", "list")
	if code != ExitUsage || !strings.Contains(stderr, "need a server") {
		t.Errorf("%d %s", code, stderr)
	}
}
