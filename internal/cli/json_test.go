package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"
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

// Every command that prints facts has --json, and prints nothing but JSON with it. The
// others have output of another kind: servers, conversations, the output of other
// programs, exports, and texts for people and shells.
func TestEveryCommandWithFactsHasJSON(t *testing.T) {
	others := strings.Split("api_server,web,run,create,completion,help,sessions export,deploy cloud_run,deploy gke,deploy docker,deploy agentcore,deploy foundry", ",")
	s, office, clerk := newService(t, hooking), newService(t, asking(t)), newService(t, equipped(t, &atomic.Int64{}))
	entry := office.ask(t)
	first := s.say(t, "one", "Hello")
	if _, err := first.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"two", "three"} {
		if code, _, stderr := s.do(t, nil, "sessions", "fork", "one", "--session", name, "--server", s.url); code != ExitOK {
			t.Fatal(stderr)
		}
	}
	if code, _, stderr := s.do(t, nil, "sessions", "export", "one", "--output", "one.jsonl", "--server", s.url); code != ExitOK {
		t.Fatal(stderr)
	}
	_, key, _ := s.do(t, nil, "keys", "create", "--user", "u", "--session_db_url", s.database)
	weather, err := filepath.Abs("../../examples/weather")
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	talk := []string{"run", weather, "--offline", "--session", "spoken", "--session_db_url", s.database}
	if code := Main(t.Context(), &Env{Args: talk, Dir: s.dir, Stdin: strings.NewReader("What is the weather in Paris?\n"), Stdout: io.Discard, Stderr: &errs}); code != ExitOK {
		t.Fatal(errs.String())
	}
	database, file := " --session_db_url "+s.database, " --credential_key_file keys.json"
	commands := []struct{ name, args string }{
		{"version", ""},
		{"doctor", database},
		{"keys create", "--user u" + database},
		{"keys list", database},
		{"keys revoke", strings.TrimSpace(key) + database},
		{"credentials create", file},
		{"credentials rotate", database + file},
		{"credentials prune", database + file},
		{"sessions list", ""},
		{"sessions show", "one"},
		{"sessions rename", "one Oslo"},
		{"sessions fork", "one"},
		{"sessions import", "one.jsonl"},
		{"sessions delete", "two three"},
		{"runs list", ""},
		{"runs show", "one"},
		{"runs follow", "one"},
		{"runs cancel", "one " + first.ID()},
		{"schedules create", "hourly --cron @hourly --message hello"},
		{"schedules list", ""},
		{"schedules show", "hourly"},
		{"schedules update", "hourly --message later"},
		{"schedules pause", "hourly"},
		{"schedules resume", "hourly"},
		{"schedules run", "hourly"},
		{"schedules delete", "hourly"},
		{"inbox list", ""},
		{"inbox answer", entry + " --response Tuesday"},
		{"tools list", ""},
		{"tools call", `write_down --yes --args {"name":"x"}`},
		{"triggers create", "hook --check secret"},
		{"triggers list", ""},
		{"triggers show", "hook"},
		{"triggers update", "hook --message later"},
		{"triggers pause", "hook"},
		{"triggers resume", "hook"},
		{"triggers rotate", "hook"},
		{"triggers delete", "hook"},
		{"webhooks create", "hook --url http://127.0.0.1:1/hook"},
		{"webhooks list", ""},
		{"webhooks show", "hook"},
		{"webhooks update", "hook --events run.failed"},
		{"webhooks dead", ""},
		{"webhooks rotate", "hook"},
		{"webhooks test", "hook"},
		{"webhooks replay", "hook"},
		{"webhooks delete", "hook"},
		{"replay", "spoken --offline --agent_dir " + weather + database},
		{"eval", ""}, // see its own tests
	}
	for _, c := range commands {
		if c.name == "eval" {
			continue
		}
		args := append(strings.Fields(c.name+" "+c.args), "--json")
		if strings.HasPrefix(c.name, "sessions") || strings.HasPrefix(c.name, "runs") || strings.HasPrefix(c.name, "schedules") || strings.HasPrefix(c.name, "triggers") || strings.HasPrefix(c.name, "webhooks") {
			args = append(args, "--server", s.url)
		}
		if strings.HasPrefix(c.name, "inbox") {
			args = append(args, "--server", office.url)
		}
		if strings.HasPrefix(c.name, "tools") {
			args = append(args, "--server", clerk.url)
		}
		code, stdout, stderr := s.do(t, nil, args...)
		if code != ExitOK || stderr != "" || stdout == "" {
			t.Errorf("%q: exit code %d: %q %s", args, code, stdout, stderr)
		}
		for line := range strings.Lines(stdout) {
			if !json.Valid([]byte(line)) || len(strings.TrimSpace(line)) < 2 {
				t.Errorf("%q: not JSON: %s", args, line)
			}
		}
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			check(sub)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "parley"), " ")
		if cmd.HasSubCommands() {
			return
		}
		has := cmd.Flags().Lookup("json") != nil
		tested := slices.ContainsFunc(commands, func(c struct{ name, args string }) bool { return c.name == name })
		if slices.Contains(others, name) == tested || has != tested && name != "eval" {
			t.Errorf("%s: --json %v, tested %v: add it to one of the lists", name, has, tested)
		}
	}
	check(newRoot(&Env{}))
}
