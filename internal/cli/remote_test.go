package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// service is a server that keeps its sessions in a file.
type service struct {
	*parley.Server
	url, database string
	dir           string
}

func newService(t *testing.T, change func(*parley.Config)) *service {
	t.Helper()
	s := &service{dir: t.TempDir()}
	s.database = "sqlite:///" + filepath.ToSlash(filepath.Join(s.dir, "parley.db"))
	cfg := parley.Config{Agents: map[string]*agent.Agent{"assistant": assistant(t)}, Sessions: parley.SessionConfig{URL: s.database}, Stdout: io.Discard}
	cfg.Access.Mode = parley.AccessLocal
	if change != nil {
		change(&cfg)
	}
	var err error
	if s.Server, err = parley.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	s.url = web.URL
	return s
}

// say has the user send a text to a session.
func (s *service) say(t *testing.T, id, text string) *parley.Run {
	t.Helper()
	run, err := s.Start(t.Context(), parley.Request{App: "assistant", User: "user", Session: id, Message: event.Text(event.RoleUser, text)})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// do runs a command in the directory of the service.
func (s *service) do(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(t.Context(), &Env{Args: args, Environ: environ, Dir: s.dir, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

// command returns functions that run subcommands of a command, which have to end with an
// exit code, and that check what is in their output.
func (s *service) command(t *testing.T, environ []string, name string) (do func(want int, args ...string) string, contains func(text string, words ...string)) {
	t.Helper()
	do = func(want int, args ...string) string {
		t.Helper()
		code, stdout, stderr := s.do(t, environ, append([]string{name}, args...)...)
		if code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, stdout, stderr)
		}
		return stdout + stderr
	}
	contains = func(text string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(text, word) {
				t.Errorf("%q is not in %s", word, text)
			}
		}
	}
	return do, contains
}

// Sessions and runs can be looked at and changed on a server, with or without the routes
// of developers, and in its database.
func TestSessionsAndRuns(t *testing.T) {
	for name, target := range map[string]func(*service) []string{
		"server": func(s *service) []string {
			return []string{"PARLEY_SERVER=" + s.url + "/", "PARLEY_SESSION_DB_URL=sqlite:///ignored.db"}
		},
		"with UI": func(s *service) []string { return []string{"PARLEY_SERVER=" + s.url} },
		"database": func(s *service) []string {
			return []string{"PARLEY_SESSION_DB_URL=" + s.database, "PARLEY_APP_NAME=assistant"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, func(cfg *parley.Config) { cfg.UI.Enabled = name == "with UI" })
			if _, err := s.say(t, "one", "Hello there").Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			environ := target(s)
			do := func(args ...string) string {
				t.Helper()
				code, stdout, stderr := s.do(t, environ, args...)
				if code != ExitOK {
					t.Fatalf("%q: exit code %d: %s", args, code, stderr)
				}
				return stdout
			}
			contains := func(got string, words ...string) {
				t.Helper()
				for _, word := range words {
					if !strings.Contains(got, word) {
						t.Errorf("%q is not in %s", word, got)
					}
				}
			}
			contains(do("sessions", "show", "one"), "session  one\n", "of       user with assistant\n", "[user]: Hello there\n", "[assistant]: ")
			contains(do("sessions", "rename", "one", "Trip to Oslo"), `The session one is called "Trip to Oslo".`)
			contains(do("sessions", "list"), "TITLE\n", "one ", "Trip to Oslo")
			if got := do("sessions", "list", "--search", "bergen"); strings.Contains(got, "one") {
				t.Errorf("it lists %s", got)
			}
			contains(do("sessions", "fork", "one", "--session", "two"), "The session two has ")
			if name != "server" {
				contains(do("sessions", "list"), "completed")
			}
			do("sessions", "export", "one", "--output", "one.jsonl")
			contains(do("sessions", "import", "one.jsonl", "--session", "three"), "The session three has ")
			lines, err := os.ReadFile(filepath.Join(s.dir, "one.jsonl"))
			if err != nil || do("sessions", "export", "one") != string(lines) {
				t.Errorf("it exports %s, %v", lines, err)
			}
			// A session as one document, which adk-web and parley run write.
			write(t, s.dir, "one.json", do("sessions", "show", "one", "--json"))
			contains(do("sessions", "import", "one.json", "--session", "four"), "The session four has ")
			contains(do("sessions", "show", "four"), "Trip to Oslo", "[user]: Hello there\n")
			contains(do("sessions", "delete", "two", "three"), "The session two is deleted.\nThe session three is deleted.\n")
			if got := do("sessions", "list"); strings.Contains(got, "two") {
				t.Errorf("it lists %s", got)
			}
			for _, args := range [][]string{{"runs", "list"}, {"runs", "list", "one"}, {"runs", "list", "--status", "failed,completed"}, {"runs", "show", "one"}} {
				contains(do(args...), "completed", "e-")
			}
			if got := do("runs", "list", "--status", "failed"); strings.Contains(got, "e-") {
				t.Errorf("it lists %s", got)
			}
			contains(do("runs", "follow", "one"), "[assistant]: ")
			for what, args := range map[string][]string{
				"Session not found: nothing": {"sessions", "show", "nothing"},
				"nothing: Session not found": {"sessions", "delete", "one", "nothing"},
				"Run not found: nothing":     {"runs", "cancel", "one", "nothing"},
				"has no runs":                {"runs", "show", "four"},
				"file exists":                {"sessions", "export", "one", "--output", "one.jsonl"},
				"already exists":             {"sessions", "import", "one.jsonl", "--session", "one"},
				"--limit must be at least 1": {"sessions", "list", "--limit", "0"},
				"the title must be given":    {"sessions", "rename", "one"},
				"cannot be combined":         {"runs", "list", "--server", s.url, "--session_db_url", s.database},
				"no server answers at http:": {"runs", "list", "--server", "http://127.0.0.1:1", "--app_name", "a"},
				"is not like http://127.0.0": {"runs", "list", "--server", "agents.example.com"},
				"there is no database":       {"runs", "list", "--session_db_url", "sqlite:///" + s.dir + "/none.db", "--app_name", "a"},
			} {
				if code, _, stderr := s.do(t, environ, args...); code == ExitOK || !strings.Contains(stderr, what) {
					t.Errorf("%q: exit code %d: it says %q, not %q", args, code, stderr, what)
				}
			}
			if _, err := s.Sessions().Get(t.Context(), session.Key{App: "assistant", User: "user", ID: "one"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A session that repeats a run is told from the one with the run: in lists and when it is
// shown, with and without the routes of developers.
func TestReplaysAreMarked(t *testing.T) {
	for _, ui := range []bool{true, false} {
		s := newService(t, func(cfg *parley.Config) { cfg.UI.Enabled = ui })
		run := s.say(t, "one", "Hello there")
		if _, err := run.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Sessions().Fork(t.Context(), session.Key{App: "assistant", User: "user", ID: "one"}, parley.Fork{ID: "fork"}); err != nil {
			t.Fatal(err)
		}
		report, err := s.Replay(t.Context(), session.Key{App: "assistant", User: "user", ID: "one"}, run.ID(), replay.Plan{})
		if err != nil {
			t.Fatal(err)
		}
		do, contains := s.command(t, []string{"PARLEY_SERVER=" + s.url}, "sessions")
		list := do(ExitOK, "list")
		contains(list, "replay of one")
		for line := range strings.Lines(list) {
			if strings.HasPrefix(line, report.Session) != strings.Contains(line, "replay of one") {
				t.Errorf("with UI %v, it lists %s", ui, line)
			}
		}
		contains(do(ExitOK, "show", report.Session), "replay of  the run "+run.ID()+" of the session one\n")
		for _, id := range []string{"one", "fork"} {
			if got := do(ExitOK, "show", id); strings.Contains(got, "replay") {
				t.Errorf("it shows %s", got)
			}
		}
		contains(do(ExitOK, "list", "--json"), `"replayOf":"`+run.ID()+`"`)
		contains(do(ExitOK, "show", report.Session, "--json"), `"replayOf":"`+run.ID()+`"`)
	}
}

// A run is followed while it runs, and ends when it is cancelled: on the server, and
// over the database that it works on.
func TestFollowAndCancel(t *testing.T) {
	s := newService(t, nil)
	for name, target := range map[string][]string{
		"server": {"--server", s.url}, "database": {"--session_db_url", s.database, "--app_name", "assistant"},
	} {
		t.Run(name, func(t *testing.T) {
			id := "of-the-" + name
			run := s.say(t, id, "Wait forever")
			out := &signalled{until: "wait_forever", seen: make(chan struct{})}
			var errs bytes.Buffer
			done := make(chan int)
			go func() {
				done <- Main(t.Context(), &Env{Args: append([]string{"runs", "follow", id}, target...), Dir: s.dir, Stdin: strings.NewReader(""), Stdout: out, Stderr: &errs})
			}()
			select {
			case <-out.seen:
			case code := <-done:
				t.Fatalf("exit code %d: %s", code, errs.String())
			}
			if code, _, stderr := s.do(t, nil, append([]string{"runs", "cancel", id, run.ID()}, target...)...); code != ExitOK {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			if code := <-done; code != ExitFailure || !strings.Contains(errs.String(), "the run is cancelled") {
				t.Errorf("exit code %d: %s", code, errs.String())
			}
		})
	}
}

// signalled tells when a text was written.
type signalled struct {
	mu    sync.Mutex
	text  strings.Builder
	until string
	seen  chan struct{}
}

func (s *signalled) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := strings.Contains(s.text.String(), s.until)
	s.text.Write(p)
	if !before && strings.Contains(s.text.String(), s.until) {
		close(s.seen)
	}
	return len(p), nil
}

// A key comes from the environment, and a server that needs one says so.
func TestAPIKeyOfCommands(t *testing.T) {
	s := newService(t, func(cfg *parley.Config) { cfg.Access.Mode = parley.AccessKeys })
	code, key, stderr := s.do(t, nil, "keys", "create", "--user", "user", "--session_db_url", s.database)
	if code != ExitOK {
		t.Fatal(stderr)
	}
	args := []string{"sessions", "list", "--server", s.url, "--app_name", "assistant"}
	if code, _, stderr := s.do(t, nil, args...); code != ExitFailure || !strings.Contains(stderr, "set PARLEY_API_KEY or --api_key") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := s.do(t, []string{"PARLEY_API_KEY=" + strings.TrimSpace(key)}, args...); code != ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if code, _, stderr := s.do(t, nil, append(args, "--api_key", strings.TrimSpace(key))...); code != ExitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A follower that is disconnected continues after the last event.
func TestFollowContinues(t *testing.T) {
	var connections atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := connections.Add(1)
		if got, want := r.Header.Get("Last-Event-ID"), map[int32]string{1: "", 2: "a"}[n]; got != want {
			t.Errorf("connection %d begins after %q", n, got)
		}
		if n == 1 {
			_, _ = io.WriteString(w, "data: {\"author\":\"x\",\"partial\":true}\n\nid: a\ndata: {\"id\":\"a\",\"author\":\"x\"}\n\nevent: resume\ndata: {}\n\n")
			return
		}
		_, _ = io.WriteString(w, ": alive\n\nid: b\ndata: {\"id\":\"b\",\"author\":\"x\"}\n\nevent: end\ndata: {\"id\":\"r\",\"status\":\"completed\"}\n\n")
	}))
	t.Cleanup(web.Close)
	code, stdout, stderr := command(t, nil, "runs", "follow", "s", "r", "--json", "--server", web.URL, "--app_name", "a")
	if code != ExitOK || stdout != "{\"id\":\"a\",\"author\":\"x\"}\n{\"id\":\"b\",\"author\":\"x\"}\n" {
		t.Errorf("exit code %d: %s %s", code, stdout, stderr)
	}
}

// What is not a server of Parley is told from one.
func TestOtherServer(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }))
	t.Cleanup(web.Close)
	if code, _, stderr := command(t, nil, "sessions", "list", "--server", web.URL); code != ExitFailure || !strings.Contains(stderr, "is it Parley?") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// In a terminal, a session is deleted only if the user says so.
func TestDeleteAsks(t *testing.T) {
	s := newService(t, nil)
	if _, err := s.say(t, "one", "Hello").Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		answer  string
		deleted bool
	}{{"\n", false}, {"n\n", false}, {"", false}, {"y\n", true}} {
		var out, errs bytes.Buffer
		code := Main(t.Context(), &Env{
			Args: []string{"sessions", "delete", "one", "--server", s.url}, Dir: s.dir,
			Stdin: strings.NewReader(test.answer), StdinTerminal: true, Stdout: &out, Stderr: &errs,
		})
		if got := code == ExitOK; got != test.deleted || !strings.Contains(out.String(), "Delete one of user for good (y/N)? ") {
			t.Errorf("%q: exit code %d: %s %s", test.answer, code, out.String(), errs.String())
		}
	}
}

// Statuses have colours in a terminal, unless the user does not want any.
func TestColoursOfStatuses(t *testing.T) {
	for _, test := range []struct {
		terminal bool
		variable string
		want     bool
	}{{true, "TERM=xterm", true}, {true, "NO_COLOR=", false}, {true, "TERM=dumb", false}, {false, "TERM=xterm", false}} {
		var out bytes.Buffer
		env := &Env{Stdout: &out, StdoutTerminal: test.terminal, Environ: []string{test.variable}}
		rows := newTable(env, "ID", "STATUS", "TITLE")
		rows.row("a\x1b[0m", "failed", "b")
		if err := rows.flush(); err != nil || strings.Contains(out.String(), colourRed+"failed"+styleReset) != test.want || strings.Contains(out.String(), "a\x1b") {
			t.Errorf("%+v: %q, %v", test, out.String(), err)
		}
	}
}

func TestExportLines(t *testing.T) {
	for in, want := range map[string]string{
		"{\"events\": [{\"id\": \"a\"}]}":        "{\"parley\":1,\"state\":{}}\n{\"id\":\"a\"}",
		"{\"parley\":1}\n{\"id\":\"a\"}":         "{\"parley\":1}\n{\"id\":\"a\"}",
		"{\"events\": [], \"state\": {\"a\":1}}": "{\"parley\":1,\"state\":{\"a\":1}}",
		"nonsense":                               "nonsense",
	} {
		if got := string(exportLines([]byte(in))); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	if !json.Valid([]byte(strings.Split(string(exportLines([]byte(`{"events":[]}`))), "\n")[0])) {
		t.Error("the first line is not JSON")
	}
}

// parley doctor and parley deploy have styles in a terminal only.
func TestStylesOfCommands(t *testing.T) {
	s := newService(t, nil)
	b := newBench(t)
	for _, args := range [][]string{{"doctor", "--session_db_url", s.database}, {"deploy", "docker", "weather", "--dry_run"}} {
		for variable, want := range map[string]bool{"TERM=xterm": true, "NO_COLOR=1": false, "TERM=dumb": false} {
			var out bytes.Buffer
			env := b.env(&out, io.Discard, args[1:]...)
			env.Args, env.StdoutTerminal = args, true
			env.Environ = append(slices.DeleteFunc(env.Environ, func(one string) bool {
				return strings.HasPrefix(one, "NO_COLOR=") || strings.HasPrefix(one, "TERM=")
			}), variable)
			if code := Main(t.Context(), env); code != ExitOK || strings.Contains(out.String(), "\x1b[") != want {
				t.Errorf("%q with %s: exit code %d: %q", args, variable, code, out.String())
			}
		}
	}
}
