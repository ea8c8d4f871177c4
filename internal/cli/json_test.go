package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// Commands that print facts print them for programs, too.
func TestJSON(t *testing.T) {
	database := "--session_db_url=sqlite:///" + filepath.ToSlash(filepath.Join(t.TempDir(), "parley.db"))
	run := func(into any, args ...string) {
		t.Helper()
		code, stdout, stderr := command(t, nil, append(args, "--json")...)
		if code != ExitOK || stderr != "" {
			t.Fatalf("%q: exit code %d: %s", args, code, stderr)
		}
		if err := json.Unmarshal([]byte(stdout), into); err != nil {
			t.Fatalf("%q: %v: %s", args, err, stdout)
		}
	}
	var made keyJSON
	run(&made, "keys", "create", "--user", "alice", "--name", "laptop", database)
	var list []keyJSON
	run(&list, "keys", "list", database)
	if len(list) != 1 || list[0].ID != made.ID || made.Key == "" || list[0].Key != "" || list[0].User != "alice" || !list[0].Expires.IsZero() {
		t.Errorf("%+v was created, and the list is %+v", made, list)
	}
	var version build
	run(&version, "version")
	if version.Go == "" {
		t.Errorf("the version is %+v", version)
	}
}
