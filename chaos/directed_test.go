//go:build unix

package chaos

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
)

// pair is two servers on one Postgres, the second one with a wrong clock.
func pair(t *testing.T) *world {
	t.Helper()
	server := pgtest.Quick(t)
	return newWorld(t, server.Database(t), server, 2, 0)
}

// at is a client of one server.
func (w *world) at(r *replica) *client {
	return &client{world: w, name: "at_" + r.name, random: w.random("at" + r.name), only: r}
}

// begin starts a run and returns when it is accepted.
func (c *client) begin(conv *conversation, stages ...string) *message {
	c.Helper()
	m := &message{conversation: conv, word: c.word(), stages: stages, policy: "enqueue", closed: -1}
	m.body = fmt.Appendf(nil, `{"appName":%q,"userId":%q,"sessionId":%q,"newMessage":{"parts":[{"text":%q}]}}`,
		conv.key.App, conv.key.User, conv.key.ID, strings.Join(append([]string{m.word}, stages...), " / "))
	status, body := c.insist(http.MethodPost, sessionPath(conv.key)+"/runs", m.body, http.Header{"Idempotency-Key": {m.word}})
	var run struct{ ID string }
	if err := json.Unmarshal(body, &run); status != http.StatusAccepted || err != nil {
		c.Fatalf("status %d, %v: %s", status, err, body)
	}
	m.run = run.ID
	conv.messages = append(conv.messages, m)
	return m
}

// finish follows a run to its end.
func (c *client) finish(m *message) {
	c.Helper()
	for end := time.Now().Add(quiet); m.ended == ""; c.nap() {
		if c.follow(m, -1); time.Now().After(end) {
			c.Fatalf("the run %s does not end:\n%s", m.run, strings.Join(m.stories, "\n"))
		}
	}
}

// row is a run as the server tells it.
type row struct {
	Status  string
	Attempt int
	Error   struct{ Type, Message string }
}

func (c *client) row(m *message) (r row) {
	c.Helper()
	status, body := c.insist(http.MethodGet, sessionPath(m.conversation.key)+"/runs/"+m.run, nil, nil)
	if err := json.Unmarshal(body, &r); status != http.StatusOK || err != nil {
		c.Fatalf("status %d, %v: %s", status, err, body)
	}
	return r
}

// finally looks at everything that is stored.
func (w *world) finally() {
	w.Helper()
	close(w.calm)
	store := w.open()
	w.settle(store)
	w.check(store)
}

// A run whose server dies is taken over by another one when its lease is over,
// and not before. How long that took is told; how long it may take on a busy
// machine is not for a test to say.
func TestTakeover(t *testing.T) {
	t.Parallel()
	w := pair(t)
	first, second := w.at(w.replicas[0]), w.at(w.replicas[1])
	conv := first.create("row")
	rounds := 2
	if *long {
		rounds = 20
	}
	var took []time.Duration
	for i := range rounds {
		m := first.begin(conv, "once pure", "pure:30000@"+fmt.Sprintf("r0.%d", i+1), "once")
		pause := time.Duration(i) * w.lease / 7 // at any time of the lease
		if i == 0 {
			pause = 2 * w.lease // a server that lives keeps its run
		}
		time.Sleep(pause)
		if r := second.row(m); r.Attempt != 1 {
			t.Errorf("the run of a server that lives was taken from it: %+v", r)
		}
		killed := time.Now()
		first.only.kill()
		for second.row(m).Attempt == 1 {
			time.Sleep(2 * time.Millisecond)
			if time.Since(killed) > quiet {
				t.Fatal("the run is not taken over")
			}
		}
		took = append(took, time.Since(killed).Round(time.Millisecond))
		second.finish(m)
		if m.status != "completed" {
			t.Errorf("the run that was taken over ended as %s", m.ended)
		}
		w.launch(first.only)
	}
	slices.Sort(took)
	t.Logf("lease %v: taken over after %v to %v, in the middle %v", w.lease, took[0], took[len(took)-1], took[len(took)/2])
	w.finally()
}

// A server that stood still for longer than the lease finds its run taken, and
// does no harm.
func TestStoppedServerContinues(t *testing.T) {
	t.Parallel()
	w := pair(t)
	first, second := w.at(w.replicas[0]), w.at(w.replicas[1])
	conv := first.create("solo")
	m := first.begin(conv, "once:300 idempotent:300", "once:300", "once")
	time.Sleep(100 * time.Millisecond)
	first.only.signal(syscall.SIGSTOP)
	second.finish(m)
	first.only.signal(syscall.SIGCONT)
	// It has noticed when it does what it is told.
	again := first.begin(conv, "once")
	first.finish(again)
	if r := second.row(m); m.status != "completed" || r.Attempt < 2 {
		t.Errorf("the run ended as %s after %d attempts", m.status, r.Attempt)
	}
	w.finally()
}

// A run that takes its server down is not tried forever: with the second death
// it has failed, and says why.
func TestRunThatKillsItsServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "sessions.db"), nil, 1, 0)
	c := w.at(w.replicas[0])
	conv := c.create("solo")
	m := c.begin(conv, "pure", "die", "pure")
	deaths := 0
	for end := time.Now().Add(quiet); m.ended == "" && deaths <= run.MaxDeaths; c.nap() {
		c.follow(m, -1) // to the end of the run, or of the server
		select {
		case <-c.only.current().ended:
			deaths++
			c.only.kill() // which it is
			w.launch(c.only)
		default:
			if time.Now().After(end) {
				t.Fatal("neither the run nor its server ends")
			}
		}
	}
	r := c.row(m)
	if deaths != run.MaxDeaths || r.Status != "failed" || r.Error.Type != run.Crashed || !strings.Contains(r.Error.Message, "without warning") {
		t.Errorf("after %d deaths the run is %+v", deaths, r)
	}
	// The session is free, and the server stays.
	next := c.begin(conv, "once")
	c.finish(next)
	if next.status != "completed" {
		t.Errorf("the next run ended as %s", next.ended)
	}
	w.finally()
}

// A run that was running when a backup was made is claimed after the restore,
// without anyone asking for it.
func TestRestore(t *testing.T) {
	t.Parallel()
	for name, places := range map[string]func(t *testing.T) (db string, server *pgtest.Server, backup func() string){
		"sqlite": func(t *testing.T) (string, *pgtest.Server, func() string) {
			t.Helper()
			path, copied := filepath.Join(t.TempDir(), "sessions.db"), filepath.Join(t.TempDir(), "copy.db")
			return "sqlite:" + path, nil, func() string {
				db, err := sql.Open("sqlite", path)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if _, err := db.ExecContext(t.Context(), "VACUUM INTO ?", copied); err != nil {
					t.Fatal(err)
				}
				return "sqlite:" + copied
			}
		},
		"postgres": func(t *testing.T) (string, *pgtest.Server, func() string) {
			t.Helper()
			server := pgtest.Quick(t)
			db := server.Database(t)
			return db, server, func() string {
				copied := server.Database(t)
				out, err := exec.CommandContext(t.Context(), "sh", "-ec", `pg_dump "$0" | psql -q -v ON_ERROR_STOP=1 "$1"`, db, copied).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				return copied
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, server, backup := places(t)
			w := newWorld(t, db, server, 1, 0)
			c := w.at(w.replicas[0])
			conv := c.create("solo")
			m := c.begin(conv, "pure:5000", "once")
			for len(m.stream) < 1 { // until the call is made that takes long
				c.follow(m, 0)
			}
			copied := backup()
			c.only.kill()

			restored := newWorld(t, copied, server, 1, 0)
			store := restored.open()
			for end := time.Now().Add(quiet); ; time.Sleep(20 * time.Millisecond) {
				r, err := store.Run(t.Context(), conv.key, m.run)
				if err != nil {
					t.Fatal(err)
				}
				if r.Status.Ended() {
					if r.Status != session.Completed || r.Attempt != 2 {
						t.Errorf("the run ended as %s, %v, at attempt %d", r.Status, r.Failure, r.Attempt)
					}
					return
				}
				if time.Now().After(end) {
					t.Fatalf("without a client, the run is %s at attempt %d", r.Status, r.Attempt)
				}
			}
		})
	}
}

// A run can be cancelled anywhere.
func TestCancelElsewhere(t *testing.T) {
	t.Parallel()
	w := pair(t)
	first, second := w.at(w.replicas[0]), w.at(w.replicas[1])
	conv := first.create("solo")
	var took []time.Duration
	for range 4 {
		m := first.begin(conv, "pure once", "idempotent:60000 pure:60000")
		for len(m.stream) < 3 { // until the calls that take long have been made
			first.follow(m, 2)
		}
		asked := time.Now()
		second.cancel(m)
		second.finish(m)
		took = append(took, time.Since(asked).Round(time.Millisecond))
		if m.status != "cancelled" {
			t.Errorf("the run ended as %s", m.ended)
		}
	}
	t.Logf("cancelled from elsewhere after %v", took)
	w.finally()
}

// Clients can leave after any event and come back anywhere.
func TestRejoinEverywhere(t *testing.T) {
	t.Parallel()
	w := pair(t)
	first, second := w.at(w.replicas[0]), w.at(w.replicas[1])
	conv := first.create("solo")
	m := first.begin(conv, "once pure", "idempotent", "pure once once", "pure")
	for i := 0; m.ended == ""; i++ { // one event at a time, here and there
		[]*client{first, second}[i%2].follow(m, 0)
		if i > 1000 {
			t.Fatal("the run does not end")
		}
	}
	if len(m.stream) < 9 {
		t.Errorf("%d events", len(m.stream))
	}
	for _, c := range []*client{first, second} {
		for at := range len(m.stream) + 1 {
			for range 4 { // by header and by query
				again := &message{conversation: conv, word: m.word, run: m.run, stream: slices.Clone(m.stream[:at])}
				for range 20 { // a client is impatient, and a machine may be busy
					if c.follow(again, -1); again.ended != "" {
						break
					}
				}
				if !slices.Equal(again.stream, m.stream) || again.ended == "" {
					t.Errorf("%s: after event %d of %v came the rest of %v: %v", c.only.name, at, ids(m.stream), ids(again.stream), again.stories)
				}
			}
		}
	}
	w.finally()
}

// metrics are what the server counts.
func (c *client) metrics() string {
	_, _, body, err := c.do(http.MethodGet, "/metrics", nil, nil)
	if err != nil {
		c.Fatal(err)
	}
	return string(body)
}

// A server that shuts down hands its runs over, and tells clients that follow them where to read on.
func TestShutdown(t *testing.T) {
	t.Parallel()
	w := pair(t)
	first, second := w.at(w.replicas[0]), w.at(w.replicas[1])
	const slow = "pure:60000@r0.1" // and quick anywhere else
	ctx, cancel := context.WithTimeout(t.Context(), quiet)
	defer cancel()
	open := func(path string, m *message, method string) *http.Response {
		resp, err := first.send(ctx, method, path, m.body, http.Header{"Accept": {"text/event-stream"}})
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	followed := first.begin(first.create("solo"), "once", slow, "once")
	stream := open(sessionPath(followed.conversation.key)+"/runs/"+followed.run+"/events", followed, http.MethodGet)
	defer stream.Body.Close()

	asked := first.begin(first.create("solo"), "once", slow)
	sse := make(chan string, 1)
	go func() { // the same request again is the same run
		resp, err := first.send(ctx, http.MethodPost, "/run_sse", asked.body, http.Header{"Idempotency-Key": {asked.word}})
		if err != nil {
			sse <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		sse <- fmt.Sprint(string(body), err)
	}()
	waited := first.begin(first.create("solo"), slow, "once")
	run := make(chan string, 1)
	go func() {
		resp, err := first.send(ctx, http.MethodPost, "/run", waited.body, http.Header{"Idempotency-Key": {waited.word}})
		if err != nil {
			run <- err.Error()
			return
		}
		defer resp.Body.Close()
		run <- fmt.Sprint(resp.StatusCode, resp.Header.Get("Location"))
	}()
	// Until they wait: the stream, both of these, and the question itself.
	for !strings.Contains(first.metrics(), "\nhttp_server_active_requests 4\n") {
		if ctx.Err() != nil {
			t.Fatal("the requests do not arrive")
		}
		time.Sleep(10 * time.Millisecond)
	}

	t.Logf("ended %v after SIGTERM, with 3 runs that took longer", first.only.terminate().Round(time.Millisecond))
	var last frame
	err := frames(stream.Body, func(f frame) bool {
		if f.id != "" {
			followed.stream = append(followed.stream, seen{f.id, f.data})
		}
		last = f
		return true
	})
	if want := followed.last(); err != nil || last.event != "resume" || !strings.Contains(last.data, followed.run+"/events?after="+want) {
		t.Errorf("the stream ends with %v, %v", last, err)
	}
	if got := <-sse; !strings.Contains(got, "Its events are at "+sessionPath(asked.conversation.key)+"/runs/"+asked.run+"/events") {
		t.Errorf("/run_sse ends with %s", got)
	}
	if got := <-run; got != "500"+sessionPath(waited.conversation.key)+"/runs/"+waited.run+"/events" {
		t.Errorf("/run answers %s", got)
	}
	for _, m := range []*message{followed, asked, waited} {
		second.finish(m)
		if r := second.row(m); m.status != "completed" || r.Attempt != 2 {
			t.Errorf("the run ended as %s after %d attempts", m.status, r.Attempt)
		}
	}
	w.finally()
}
