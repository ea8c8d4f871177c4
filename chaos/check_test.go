//go:build unix

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/doctor"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/sqlite"
)

// open opens the database beside the servers.
func (w *world) open() session.Store {
	w.Helper()
	opts := session.Options{Owner: "check", Lease: w.lease}
	var store session.Store
	var err error
	if w.server != nil {
		store, err = postgres.Open(w.Context(), w.db, opts)
	} else {
		store, err = sqlite.Open(w.Context(), strings.TrimPrefix(w.db, "sqlite:"), opts)
	}
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { store.Close() })
	return store
}

// settle waits until no run is in progress any more, also of those that no client
// knows.
func (w *world) settle(store session.Store) {
	w.Helper()
	for end := time.Now().Add(quiet); ; time.Sleep(20 * time.Millisecond) {
		var open []string
		for _, conv := range w.conversations {
			runs, _, err := store.ListRuns(w.Context(), conv.key, session.Page{})
			if err != nil {
				w.Fatalf("%v: %v", conv.key, err)
			}
			for _, r := range runs {
				if !r.Status.Ended() {
					open = append(open, fmt.Sprintf("%s: %s is %s, attempt %d, epoch %d, stop %q", conv.key.ID, r.ID, r.Status, r.Attempt, r.Epoch, r.Stop))
				}
			}
		}
		if len(open) == 0 {
			return
		}
		if time.Now().After(end) {
			w.Fatalf("runs do not end:\n%s", strings.Join(open, "\n"))
		}
	}
}

// unfinished tells what clients still wait for.
func (w *world) unfinished() {
	for _, conv := range w.conversations {
		conv.mu.Lock()
		for _, m := range conv.messages {
			if m.ended == "" && m.refused == "" {
				w.Errorf("%s: waits for the run %q of %s", conv.key.ID, m.run, m.word)
			}
		}
		conv.mu.Unlock()
	}
}

// verdict is the look at one session.
type verdict struct {
	*world
	conv     *conversation
	entries  []*session.Entry
	events   []*event
	runs     map[string]*session.Run
	problems []string
}

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

// check holds the database to what clients were told.
func (w *world) check(store session.Store) {
	w.Helper()
	calls := w.readLedger()
	counts := map[string]int{}
	for _, conv := range w.conversations {
		v := &verdict{world: w, conv: conv, runs: map[string]*session.Run{}}
		v.load(w.Context(), store)
		v.doctor(w.Context(), store)
		for _, m := range conv.messages {
			v.message(m)
			if r := v.runs[m.run]; r != nil {
				counts[string(r.Status)]++
				counts["takeovers"] += max(0, r.Attempt-1)
			}
			counts["messages"]++
			counts["events followed"] += len(m.stream)
		}
		v.unexpectedRuns()
		v.state(w.Context(), store)
		v.reads()
		v.calls(calls)
		v.report()
	}
	w.executions(calls)
	w.Logf("%d sessions, %v, %d executions of tools", len(w.conversations), counts, calls.starts)
}

func (v *verdict) load(ctx context.Context, store session.Store) {
	s, err := store.Get(ctx, v.conv.key, session.Read{})
	if err != nil {
		v.Fatalf("the session %v was acknowledged: %v", v.conv.key, err)
	}
	v.entries = s.Entries
	for _, e := range s.Entries {
		ev, err := decode(string(e.JSON))
		if err != nil {
			v.problem("%v", err)
			ev = &event{}
		}
		v.events = append(v.events, ev)
	}
	runs, _, err := store.ListRuns(ctx, v.conv.key, session.Page{})
	if err != nil {
		v.Fatalf("%v: %v", v.conv.key, err)
	}
	for _, r := range runs {
		v.runs[r.ID] = r
	}
}

// doctor looks for what must never be, whatever clients were told.
func (v *verdict) doctor(ctx context.Context, store session.Store) {
	s, err := store.Get(ctx, v.conv.key, session.Read{Initial: true})
	if err != nil {
		v.Fatal(err)
	}
	var runs []*session.Run
	for _, r := range v.runs {
		runs = append(runs, r)
	}
	for _, p := range doctor.Check(s, runs) {
		v.problem("the doctor finds: %v", p)
	}
}

// stored are the events of a run, without its message.
func (v *verdict) stored(run string) (events []seen) {
	for i, ev := range v.events {
		if ev.InvocationID == run && v.entries[i].Seq != v.runs[run].First {
			events = append(events, seen{ev.ID, string(v.entries[i].JSON)})
		}
	}
	return events
}

// message compares what a client was told about a message with what is stored.
func (v *verdict) message(m *message) {
	said := 0
	for _, ev := range v.events {
		if ev.Author == "user" && v.says(ev, m) {
			said++
			if m.refused != "" {
				v.problem("%s: was refused (%s), and is in the log", m.word, m.refused)
			} else if ev.InvocationID != m.run {
				v.problem("%s: was accepted as %s, and is a message of %s", m.word, m.run, ev.InvocationID)
			}
		}
	}
	if m.run == "" {
		return
	}
	r := v.runs[m.run]
	if r == nil {
		v.problem("%s: the run %s was acknowledged and is not there", m.word, m.run)
		return
	}
	want := 1
	if r.First == 0 {
		want = 0
	}
	if said != want {
		v.problem("%s: is in the log %d times, want %d", m.word, said, want)
	}
	stored := v.stored(m.run)
	if !slices.Equal(m.stream, stored) {
		v.problem("%s: the streams of %s together have the events %v, stored are %v", m.word, m.run, ids(m.stream), ids(stored))
	}
	if m.closed >= 0 && m.closed != len(stored) {
		v.problem("%s: /run_sse ended in good order after %d events, stored are %d", m.word, m.closed, len(stored))
	}
	all := make([]string, len(stored))
	for i, s := range stored {
		all[i] = s.json
	}
	for _, whole := range m.whole {
		if want := "[" + strings.Join(all, ",") + "]"; whole != want {
			v.problem("%s: /run answered\n%s\nstored is\n%s", m.word, whole, want)
		}
	}
	// A run that waited is over when it was answered.
	answered := m.status == string(session.Waiting) && r.Status == session.Completed && r.ResumedBy != ""
	if string(r.Status) != m.status && !answered {
		v.problem("%s: the stream ended with the status %s, the run is %s", m.word, m.status, r.Status)
	}
	v.outcome(m, r)
}

func ids(list []seen) (out []string) {
	for _, s := range list {
		out = append(out, s.id)
	}
	return out
}

// says reports whether an event is that message.
func (v *verdict) says(ev *event, m *message) bool {
	for _, p := range ev.Content.Parts {
		if strings.HasPrefix(p.Text, m.word+" / ") || p.FunctionResponse != nil && m.answers == p.FunctionResponse.ID {
			return true
		}
	}
	return false
}

// outcome looks whether a run may have ended as it has.
func (v *verdict) outcome(m *message, r *session.Run) {
	switch r.Status {
	case session.Completed:
		if m.waits() {
			return // the rest is for another run
		}
		for _, agent := range apps[v.conv.key.App] {
			var want, got []string
			for i, stage := range m.stages {
				for j := range strings.Fields(stage) {
					want = append(want, fmt.Sprintf("%s/%s/%d/%d", m.word, agent, i, j))
				}
			}
			for _, ev := range v.events {
				for _, p := range ev.Content.Parts {
					if p.FunctionCall != nil && ev.InvocationID == r.ID && ev.Author == agent {
						got = append(got, p.FunctionCall.Args.Key)
					}
				}
			}
			if !slices.Equal(want, got) {
				v.problem("%s: %s should have called %v and has called %v", m.word, agent, want, got)
			}
		}
	case session.Waiting:
		if !m.waits() {
			v.problem("%s: the run %s waits, and nothing asks for that", m.word, r.ID)
		}
	case session.Cancelled:
		if !v.conv.ended {
			v.problem("%s: the run %s is cancelled, and no client requested it", m.word, r.ID)
		}
	case session.Failed:
		// When its turn came, the call was answered, or had been rewound.
		late := m.answers != "" && r.First == 0 && (r.Failure.Type == "answered" || r.Failure.Type == "unknown_call" && v.conv.rewound)
		lost := v.conv.key.App == "hand" && r.Attempt > 1             // a function cannot be taken over
		away := (*long || v.slow.Load()) && r.Failure.Type == "store" // the database, for longer than it is waited for
		died := r.Failure.Type == run.Crashed && r.Attempt > run.MaxDeaths
		if !late && !lost && !away && !died {
			v.problem("%s: the run %s failed: %v", m.word, r.ID, r.Failure)
		}
	default:
		v.problem("%s: the run %s is %s", m.word, r.ID, r.Status)
	}
}

// unexpectedRuns looks for runs that no client was told about.
func (v *verdict) unexpectedRuns() {
	for id := range v.runs {
		if !slices.ContainsFunc(v.conv.messages, func(m *message) bool { return m.run == id }) {
			v.problem("the run %s is of no message", id)
		}
	}
}

func (v *verdict) state(ctx context.Context, store session.Store) {
	s, err := store.Get(ctx, v.conv.key, session.Read{NoEvents: true})
	if err != nil {
		v.Fatal(err)
	}
	for name, value := range v.conv.patches {
		if got := string(s.State[name]); got != value {
			v.problem("the state %s was acknowledged to be %s and is %q", name, value, got)
		}
	}
}

// reads looks whether what was read once is still there, in the same place.
func (v *verdict) reads() {
	for n, read := range v.conv.reads {
		at := 0
		for _, doc := range read {
			for at < len(v.entries) && string(v.entries[at].JSON) != doc {
				if !v.conv.rewound {
					v.problem("read %d: event %d was %s", n, at+1, doc)
					return
				}
				at++
			}
			if at == len(v.entries) {
				v.problem("read %d: an event is not there any more: %s", n, doc)
				return
			}
			at++
		}
	}
}

// report prints what is wrong with a session, and everything that is known of it.
func (v *verdict) report() {
	if len(v.problems) == 0 {
		return
	}
	var b strings.Builder
	for _, r := range v.runs {
		fmt.Fprintf(&b, "run %d %s: %s, stop %q, epoch %d, attempt %d, entries %d to %d, failure %v\n", r.Number, r.ID, r.Status, r.Stop, r.Epoch, r.Attempt, r.First, r.Last, r.Failure)
	}
	for _, e := range v.entries {
		fmt.Fprintf(&b, "#%d %.400s\n", e.Seq, e.JSON)
	}
	for _, m := range v.conv.messages {
		fmt.Fprintf(&b, "%s: run %s, policy %s, saw %v, ended %q, refused %q\n\t%s\n", m.word, m.run, m.policy, ids(m.stream), m.ended, m.refused, strings.Join(m.stories, "\n\t"))
	}
	v.Errorf("%v:\n%s\n%s", v.conv.key, strings.Join(v.problems, "\n"), b.String())
}
