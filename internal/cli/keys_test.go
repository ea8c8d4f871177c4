package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A key is shown once, and what is kept of it cannot be used.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.db")
	keys := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		code, stdout, stderr := command(t, nil, append([]string{"keys"}, append(args, "--keys_db_url", "sqlite://"+file)...)...)
		if code != want {
			t.Fatalf("keys %v: exit code %d, %s%s", args, code, stdout, stderr)
		}
		return stdout, stderr
	}
	text, about := keys(ExitOK, "create", "--user", "alice", "--name", "her\x1blaptop", "--expires", "24h")
	text = strings.TrimSpace(text)
	parts := regexp.MustCompile(`^parley_([a-z0-9]{10})_([A-Z0-9]{26})$`).FindStringSubmatch(text)
	if parts == nil || !strings.Contains(about, parts[1]) || strings.Contains(about, parts[2]) {
		t.Fatalf("created is %q, and said is %q", text, about)
	}
	backend, _ := keys(ExitOK, "create", "--scope", "run,users", "--name", "backend")
	for _, wrong := range [][]string{
		{"create"},
		{"create", "--user", "a", "--scope", "everything"},
		{"create", "--user", "a\n"},
		{"create", "--user", "a", "--expires", "-1h"},
		{"revoke", "nothing"},
	} {
		keys(ExitFailure, wrong...)
	}
	for _, empty := range []string{"--scope=", "--scope=,"} { // the default is for a flag that is not given
		if _, said := keys(ExitUsage, "create", "--user", "a", empty); !strings.Contains(said, "--scope") {
			t.Errorf("about %s, it says %q", empty, said)
		}
	}
	other := strings.Replace(text, parts[1], "4k2mvq7x1c", 1)
	if _, said := keys(ExitFailure, "revoke", other); strings.Contains(said, parts[2]) || !strings.Contains(said, "4k2mvq7x1c") {
		t.Errorf("about a key that is not there, it says %q", said)
	}
	list, _ := keys(ExitOK, "list")
	for _, want := range []string{parts[1], "alice", "her laptop", "run,users", "backend", "never"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q:\n%s", want, list)
		}
	}
	if strings.Contains(list, parts[2]) || strings.Count(list, "\n") != 3 {
		t.Errorf("the list is\n%s", list)
	}
	for _, name := range []string{file, file + "-wal"} {
		if kept, err := os.ReadFile(name); err == nil && strings.Contains(string(kept), parts[2]) {
			t.Errorf("the key itself is in %s", name)
		}
	}
	keys(ExitOK, "revoke", strings.Split(backend, "_")[1])
	if said, _ := keys(ExitOK, "revoke", text); !strings.Contains(said, parts[1]) || strings.Contains(said, parts[2]) {
		t.Errorf("about a key that was revoked, it says %q", said)
	}
	if list, _ := keys(ExitOK, "list"); strings.Count(list, "\n") != 1 {
		t.Errorf("after they were revoked, the list is\n%s", list)
	}
}
