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
	contains(do(ExitUsage, "update", "issues"), "nothing to change")
	contains(do(ExitUsage, "update", "issues", "--match", "body.ref"), "--match")
	contains(do(ExitUsage, "update", "issues", "--state", "unit"), "--state")
	contains(do(ExitFailure, "update", "issues", "--message", "{{ nothing }}"), "message")
	changed := do(ExitOK, "update", "issues", "--event", "", "--state", "unit=celsius", "--state", "tries=3", "--state", "at={{ body.city }}", "--json")
	contains(changed, `"stateDelta":{"at":"{{ body.city }}","tries":3,"unit":"celsius"}`, `"match":{"body.ref":["main"]}`, `"userId":"triage"`, "New: {{ body.title }}", "issue-{{ body.n }}")
	if strings.Contains(changed, "events") || strings.Contains(changed, "secret") {
		t.Error(changed)
	}
	if err := os.WriteFile(secret, []byte("fedcba9876543210"), 0o600); err != nil {
		t.Fatal(err)
	}
	changed = do(ExitOK, "update", "issues", "--user", "ops", "--match", "", "--delivery_id", "{{ body.id }}", "--secret_file", secret, "--json")
	contains(changed, `"userId":"ops"`, `"deliveryId":"{{ body.id }}"`, "fedcba9876543210", `"unit":"celsius"`)
	if strings.Contains(changed, "match") {
		t.Error(changed)
	}
	contains(do(ExitOK, "pause", "issues"), "paused")
	contains(do(ExitOK, "resume", "issues", "--json"), `"paused":false`)
	if rotated := do(ExitOK, "rotate", "issues"); strings.Contains(rotated, "fedcba9876543210") || !strings.Contains(rotated, "not shown again") {
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
