package parley_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/calendar"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// Runs that one server has recorded are repeated by another one that shares its
// database, while the first one runs and after it has ended.
func TestReplayOnAnotherServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a database")
	}
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	for _, app := range []string{"tool", "workflow", "astool", "toolset", "remote", "code"} {
		t.Run(app, func(t *testing.T) {
			one, other := &edges{instruction: kind, session: database}, &edges{instruction: kind, session: database}
			first := one.open(t)
			runs := converse(t, first, app, false)
			first.FlushRecordings(t.Context())
			second := other.open(t)
			defer func() { second.Close(context.WithoutCancel(t.Context())) }()
			check := func(when string) {
				t.Helper()
				for _, run := range runs {
					if r := report(t, second, app, run, replay.Plan{}); !r.Same || r.FromLog {
						t.Errorf("%s, run %s: %s", when, run, differences(r))
					}
				}
			}
			check("beside the first server")
			first.Close(context.WithoutCancel(t.Context()))
			second.Close(context.WithoutCancel(t.Context()))
			second = other.open(t)
			check("after a restart")
			if n := other.models.Load() + other.tools.Load(); n != 0 {
				t.Errorf("the second server has made %d calls", n)
			}
		})
	}
}

// What agents are told is stored once for a session, and the recording of a run is short.
func TestRecordingsShareParts(t *testing.T) {
	t.Parallel()
	e := &edges{instruction: kind, session: "sqlite://" + filepath.Join(t.TempDir(), "s.db")}
	srv := e.open(t)
	defer func() { srv.Close(context.WithoutCancel(t.Context())) }()
	parts := map[[32]byte]bool{}
	for _, run := range converse(t, srv, "tool", false) {
		srv.FlushRecordings(t.Context())
		list, err := srv.StoredRecordings(t.Context(), session.Key{App: "tool", User: "u", ID: "s"}, run)
		if err != nil || len(list) != 1 {
			t.Fatalf("run %s has the recordings %v, %v", run, list, err)
		}
		if doc := list[0].JSON; bytes.Contains(doc, []byte("Be kind.")) || len(doc) > 1000 {
			t.Errorf("the recording of %s has %d bytes: %s", run, len(doc), doc)
		}
		for _, p := range list[0].Parts {
			parts[p.Digest] = true
		}
	}
	if len(parts) != 1 && len(parts) != 2 { // the instruction, and the tools
		t.Errorf("the session has %d parts", len(parts))
	}
}

// The runs before and after a login are repeated without the provider and the service,
// and no recording has a secret.
func TestReplayOfALogin(t *testing.T) {
	p := provider.Start(t, provider.Options{RedirectURIs: []string{redirect}, RequirePKCE: true})
	dir := t.TempDir()
	open := func() *parley.Server {
		srv, err := parley.Open(t.Context(), parley.Config{
			Agents: map[string]*agent.Agent{"calendar": calendar.Agent(p)}, Logins: parley.LoginConfig{AllowPrivate: []string{"127.0.0.0/8", "::1/128"}},
			Recording: parley.RecordingConfig{Share: 1}, Sessions: parley.SessionConfig{URL: "sqlite://" + filepath.Join(dir, "parley.db")},
		})
		if err != nil {
			t.Fatal(err)
		}
		return srv
	}
	srv := open()
	v := &visitor{t: t, srv: srv.Handler(), seen: &bytes.Buffer{}}
	v.do("POST", "/apps/calendar/users/u/sessions/s", "")
	events := v.run(`{"text":"What is on?"}`)
	runs := []string{events[0].InvocationID}
	part := v.login(p, events)
	for _, message := range []string{part, `{"text":"And now?"}`} {
		events = v.run(message)
		runs = append(runs, events[len(events)-1].InvocationID)
	}
	srv.Close(context.WithoutCancel(t.Context()))
	srv = open()
	defer func() { srv.Close(context.WithoutCancel(t.Context())) }()
	before := len(p.Requests())
	for _, run := range runs {
		if r := report(t, srv, "calendar", run, replay.Plan{}); !r.Same || r.FromLog {
			t.Errorf("run %s: %s", run, differences(r))
		}
	}
	if n := len(p.Requests()); n != before {
		t.Errorf("the provider got %d requests", n-before)
	}
	srv.Close(context.WithoutCancel(t.Context()))
	_, secret := p.Client()
	words := map[string]string{"the client secret": secret}
	at := part[strings.Index(part, "code=")+len("code="):]
	words["the code"], _, _ = strings.Cut(at, `\`)
	words["the code"], _, _ = strings.Cut(words["the code"], "&")
	for i, token := range p.Tokens() {
		words[fmt.Sprint("token ", i)] = token
	}
	if len(words) < 3 {
		t.Errorf("there are no tokens to search for: %v", words)
	}
	files, err := filepath.Glob(filepath.Join(dir, "parley.db*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, word := range words {
			if word == "" || !strings.HasSuffix(name, ".key") && bytes.Contains(content, []byte(word)) {
				t.Errorf("%s, %q, is in %s", what, word, filepath.Base(name))
			}
		}
	}
}

// The last run of a session with 5,000 events is repeated with little more memory than
// its events need. What other tests allocate would count, so none runs beside it.
func TestReplayOfALongSession(t *testing.T) {
	if testing.Short() {
		t.Skip("makes sessions of 5,000 events, one of them in a database server")
	}
	key := session.Key{App: "tool", User: "u", ID: "s"}
	var history []*event.Event
	for i := range 2500 {
		history = append(history,
			&event.Event{Author: event.User, Content: event.Text(event.RoleUser, fmt.Sprint("question ", i))},
			&event.Event{Author: "led", Content: event.Text(event.RoleModel, fmt.Sprint("answer ", i))})
	}
	for name, database := range map[string]string{
		"SQLite": "sqlite://" + filepath.Join(t.TempDir(), "s.db"), "Postgres": pgtest.Quick(t).Database(t),
	} {
		t.Run(name, func(t *testing.T) {
			e := &edges{instruction: "Be kind.", session: database}
			srv := e.open(t)
			if _, err := srv.Sessions().Create(t.Context(), parley.NewSession{Key: key, Events: history}); err != nil {
				t.Fatal(err)
			}
			runs := converse(t, srv, "tool", false)
			srv.Close(context.WithoutCancel(t.Context()))
			srv = e.open(t)
			defer func() { srv.Close(context.WithoutCancel(t.Context())) }()
			calls := e.models.Load() + e.tools.Load()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := report(t, srv, "tool", runs[len(runs)-1], replay.Plan{})
			runtime.ReadMemStats(&after)
			if !r.Same || r.FromLog {
				t.Error(differences(r))
			}
			if n := e.models.Load() + e.tools.Load(); n != calls {
				t.Errorf("%d calls were made", n-calls)
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 200 {
				t.Errorf("it has allocated %d MB", mb)
			} else {
				t.Logf("it has allocated %d MB", mb)
			}
		})
	}
}
