package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/doctor"
	"github.com/parley-run/parley/internal/testkit/badnet"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
)

func key(id string) session.Key { return session.Key{App: "app", User: "user", ID: id} }

// say is an entry with a state delta.
func say(id string, delta ...string) *session.Entry {
	ev := &event.Event{ID: id, InvocationID: "i", Author: "agent", Timestamp: 1.5, Content: event.Text(event.RoleModel, "This is "+id+".")}
	for i := 0; i < len(delta); i += 2 {
		if ev.Actions.StateDelta == nil {
			ev.Actions.StateDelta = session.State{}
		}
		ev.Actions.StateDelta[delta[i]] = []byte(delta[i+1])
	}
	e, err := session.NewEntry(ev)
	if err != nil {
		panic(err)
	}
	return e
}

func request() ([]byte, error) { return []byte("{}"), nil }

// talk is a conversation of one session: what it was told that is stored.
type talk struct {
	key   session.Key
	plain bool     // changes can be made together with those of others
	log   []string // ids of events, in their order
	runs  int
	epoch int64 // the last
}

// turn does a run of four events, with a patch in the middle.
func (c *talk) turn(ctx context.Context, s session.Backend) error {
	c.runs++
	run := fmt.Sprint(c.key.ID, "-run-", c.runs)
	place := func(what string, entries ...*session.Entry) error {
		for _, e := range entries {
			c.log = append(c.log, e.Event.ID)
			if e.Seq != int64(len(c.log)) {
				return fmt.Errorf("%s: %s has the sequence %d, want %d", what, e.Event.ID, e.Seq, len(c.log))
			}
		}
		return nil
	}
	message := say(run+"-message", "count", fmt.Sprint(c.runs), "user:"+c.key.ID, fmt.Sprint(c.runs))
	if c.plain {
		message = say(run+"-message", "count", fmt.Sprint(c.runs))
	}
	begun, err := s.Begin(ctx, session.NewRun{ID: run, Key: c.key, Request: request, Message: message, Busy: session.Reject, IdempotencyKey: run})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if begun.Session == nil || begun.Repeat || begun.Session.Seq != int64(len(c.log)) || len(begun.Session.Entries) != len(c.log) {
		return fmt.Errorf("begin: %+v, session %+v, after %d entries", begun.Run, begun.Session, len(c.log))
	}
	if begun.Run.Epoch <= c.epoch {
		return fmt.Errorf("begin: the epoch %d comes after %d", begun.Run.Epoch, c.epoch)
	}
	if err := place("begin", message); err != nil {
		return err
	}
	if c.runs%3 == 0 { // another process takes over
		if err := s.HandOver(ctx, c.key, begun.Run.Epoch); err != nil {
			return fmt.Errorf("hand over: %w", err)
		}
		if begun, err = s.Claim(ctx, c.key, session.Read{}); err != nil {
			return fmt.Errorf("claim: %w", err)
		}
	}
	c.epoch = begun.Run.Epoch
	for i := range 3 {
		e, notes := say(fmt.Sprint(run, "-", i), "step", fmt.Sprint(i), "app:"+c.key.ID, fmt.Sprint(i)), session.Journal{"step": []byte{byte(i)}}
		if c.plain {
			e, notes = say(fmt.Sprint(run, "-", i), "step", fmt.Sprint(i)), nil
		}
		if err := s.Append(ctx, c.key, begun.Run.Epoch, notes, e); err != nil {
			return fmt.Errorf("append: %w", err)
		}
		if err := place("append", e); err != nil {
			return err
		}
	}
	patch, last := say(run+"-patch"), say(run+"-last", "step", "null")
	if err := s.Patch(ctx, c.key, patch); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if err := place("patch", patch); err != nil {
		return err
	}
	if _, err := s.End(ctx, c.key, begun.Run.Epoch, session.End{Status: session.Completed, Entries: []*session.Entry{last}}); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return place("end", last)
}

// check wants the session to be what its writer was told, no more and no less.
func (c *talk) check(t *testing.T, s session.Backend) {
	t.Helper()
	got, err := s.Get(t.Context(), c.key, session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Seq != int64(len(c.log)) || len(got.Entries) != len(c.log) {
		t.Fatalf("%s has %d entries, want %d", c.key.ID, len(got.Entries), len(c.log))
	}
	for i, e := range got.Entries {
		if ev, err := e.Decode(); err != nil || ev.ID != c.log[i] || e.Seq != int64(i)+1 {
			t.Fatalf("%s: entry %d is %s with the sequence %d (%v), want %s", c.key.ID, i, ev.ID, e.Seq, err, c.log[i])
		}
	}
	if c.runs > 0 && !c.plain && string(got.State["user:"+c.key.ID]) != fmt.Sprint(c.runs) || c.runs > 0 && string(got.State["count"]) != fmt.Sprint(c.runs) || string(got.State["step"]) != "" {
		t.Errorf("%s: the state is %s after %d runs", c.key.ID, got.State, c.runs)
	}
	runs, _, err := s.ListRuns(t.Context(), c.key, session.Page{})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != c.runs {
		t.Errorf("%s has %d runs, want %d", c.key.ID, len(runs), c.runs)
	}
	for _, r := range runs {
		if r.Status != session.Completed || r.Attempt > 2 || r.Last-r.First != 5 {
			t.Errorf("%s: a run is %+v", c.key.ID, r)
		}
	}
}

// underway has people talk while fault makes trouble, and for a moment longer.
// None of them may notice anything.
func underway(t *testing.T, s session.Backend, fault func()) {
	t.Helper()
	talks(t, s, "", fault)
}

// talks is underway in sessions whose ids end with a suffix.
func talks(t *testing.T, s session.Backend, suffix string, fault func()) {
	t.Helper()
	const people = 8
	talks := make([]*talk, people)
	ctx := session.Insist(t.Context())
	var stop atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, people)
	for i := range talks {
		talks[i] = &talk{key: key(fmt.Sprint("s", i, suffix)), plain: i%4 != 0}
		if _, err := s.Create(ctx, session.NewSession{Key: talks[i].key}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for !stop.Load() && errs[i] == nil {
				errs[i] = talks[i].turn(ctx, s)
			}
		})
	}
	made := 0
	wg.Go(func() {
		for n := 0; !stop.Load(); n++ {
			key := key(fmt.Sprint("made", n, suffix))
			_, err := s.Create(ctx, session.NewSession{Key: key, State: session.State{"n": []byte("1")}, Log: []*session.Entry{say("first")}})
			if err == nil && n%2 == 0 {
				err = s.Delete(ctx, key)
			}
			if err != nil {
				t.Errorf("session %d: %v", n, err)
				return
			}
			made++
		}
	})
	fault()
	time.Sleep(300 * time.Millisecond)
	stop.Store(true)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	turns := 0
	for _, c := range talks {
		c.check(t, s)
		turns += c.runs
	}
	for n := range made {
		got, err := s.Get(t.Context(), key(fmt.Sprint("made", n, suffix)), session.Read{})
		if n%2 == 0 && !errors.Is(err, session.ErrNotFound) || n%2 == 1 && (err != nil || got.Seq != 1) {
			t.Errorf("session %d: %+v, error %v", n, got, err)
		}
	}
	t.Logf("%d runs, %d sessions", turns, made)
}

// The database is stopped, and killed, and comes back. No call fails, nothing that
// was confirmed is lost, and nothing is there twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	server, err := pgtest.New(t.Context(), pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	url, err := server.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, url, session.Options{Lease: time.Minute})
	s.SetPatience(5 * time.Minute) // the machine may be busy
	underway(t, s, func() {
		for i, end := range []func(){
			func() { server.Stop(pgtest.Fast) }, func() { server.Stop(pgtest.Immediate) }, server.Kill, func() { server.Stop(pgtest.Fast) },
		} {
			time.Sleep(time.Duration(100+50*i) * time.Millisecond)
			end()
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			if err := server.Start(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// The same when the database is well and the way to it is not.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	server := pgtest.Quick(t)
	p := badnet.New(t, server.Addr(), rand.New(rand.NewPCG(rand.Uint64(), 0)))
	s := open(t, p.Through(t, server.Database(t)), session.Options{Lease: time.Minute})
	s.SetPatience(5 * time.Minute) // the machine may be busy
	underway(t, s, func() {
		p.Bad.Store(true)
		for start := time.Now(); p.Cuts.Load() < 300 && time.Since(start) < 10*time.Second; {
			time.Sleep(10 * time.Millisecond)
		}
		p.Bad.Store(false)
	})
	t.Logf("%d connections were cut", p.Cuts.Load())
}

// While the database is unavailable, no call waits longer than its context allows.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	server, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, server.URL(), session.Options{})
	if _, err := s.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	if err := s.Patch(ctx, key("s"), say("e")); err == nil || errors.Is(err, session.ErrNotFound) {
		t.Errorf("Patch: error %v", err)
	}
	if _, err := s.Get(ctx, key("s"), session.Read{}); err == nil || errors.Is(err, session.ErrNotFound) {
		t.Errorf("Get: error %v", err)
	}
	t.Log("gave up after", time.Since(start))
}

// Once it is known that the database is unavailable, calls fail without trying to reach
// it, one goroutine tries for all, calls of runs wait for it, and everything
// works again when it is back.
func TestUnavailableIsKnown(t *testing.T) {
	t.Parallel()
	server, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	p := badnet.New(t, server.Addr(), rand.New(rand.NewPCG(1, 0)))
	s := open(t, p.Through(t, server.URL()), session.Options{Lease: time.Minute})
	if _, err := s.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	server.Stop(pgtest.Fast)
	before := p.Dials.Load()
	wantUnavailable(t, "the first call", func() error { _, err := s.Get(t.Context(), key("s"), session.Read{}); return err })
	if reads, _ := s.Away(); !reads || p.Dials.Load()-before > 20 {
		t.Errorf("after %d attempts to reach the database, it is known to be away: %v", p.Dials.Load()-before, reads)
	}
	before = p.Dials.Load()
	const calls = 2000
	for range calls / 4 {
		wantUnavailable(t, "Get", func() error { _, err := s.Get(t.Context(), key("s"), session.Read{}); return err })
		wantUnavailable(t, "Patch", func() error { return s.Patch(t.Context(), key("s"), say("never")) })
		wantUnavailable(t, "Begin", func() error {
			_, err := s.Begin(t.Context(), session.NewRun{ID: "r", Key: key("s"), Request: request, Busy: session.Reject})
			return err
		})
		wantUnavailable(t, "Ready", func() error { return s.Ready(t.Context()) })
	}
	if n := p.Dials.Load() - before; n > calls/4 {
		t.Errorf("%d calls have tried %d times to reach the database", calls, n)
	}
	s.SetPatience(5 * time.Minute) // a busy machine takes long to start it
	patched := make(chan error, 1)
	go func() { patched <- s.Patch(session.Insist(t.Context()), key("s"), say("of a run")) }()
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-patched; err != nil {
		t.Errorf("a call of a run: %v", err)
	}
	eventually(t, func() error { return s.Ready(t.Context()) })
	if got, err := s.Get(t.Context(), key("s"), session.Read{}); err != nil || got.Seq != 1 {
		t.Errorf("after the outage: %+v, %v", got, err)
	}
}

// A database that can be read and not written is known as such.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	if _, err := s.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	set := func(to string) string {
		return "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = " + to + "', current_database()); END $$"
	}
	const others = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
	sql(t, database, set("on"), others)
	for range 10 { // and no connection is left that was cut
		if _, err := s.Get(t.Context(), key("s"), session.Read{}); err != nil {
			t.Errorf("Get: %v", err)
		}
	}
	wantUnavailable(t, "Patch", func() error { return s.Patch(t.Context(), key("s"), say("never")) })
	if reads, writes := s.Away(); reads || !writes {
		t.Errorf("after a write that was refused, reads are known to fail: %v, and writes: %v", reads, writes)
	}
	wantUnavailable(t, "Ready", func() error { return s.Ready(t.Context()) })
	if _, err := s.Get(t.Context(), key("s"), session.Read{}); err != nil {
		t.Errorf("Get: %v", err)
	}
	sql(t, database, "SET default_transaction_read_only = off", set("off"), others)
	eventually(t, func() error { return s.Ready(t.Context()) })
	if err := s.Patch(t.Context(), key("s"), say("e")); err != nil {
		t.Errorf("Patch: %v", err)
	}
}

func wantUnavailable(t *testing.T, what string, call func() error) {
	t.Helper()
	err := call()
	if e, ok := errors.AsType[*session.UnavailableError](err); !ok || e.Doubt {
		t.Fatalf("%s: error %v, want an *UnavailableError without a doubt", what, err)
	}
}

// eventually waits until a call succeeds.
func eventually(t *testing.T, call func() error) {
	t.Helper()
	err := call()
	for end := time.Now().Add(5 * time.Minute); err != nil && time.Now().Before(end); err = call() {
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// When packets are dropped, and no connection ends, no call waits forever: not
// even a read without a deadline.
func TestDroppedPackets(t *testing.T) {
	t.Parallel()
	server := pgtest.Quick(t)
	p := badnet.New(t, server.Addr(), rand.New(rand.NewPCG(rand.Uint64(), 0)))
	s := open(t, with(t, p.Through(t, server.Database(t)), "connect_timeout", "1"), session.Options{})
	if _, err := s.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
		t.Fatal(err)
	}
	s.SetPatience(500 * time.Millisecond)
	p.Stalled.Store(true)
	defer p.Stalled.Store(false)
	calls := map[string]func() error{
		"Sweep":  func() error { _, _, err := s.Sweep(t.Context(), time.Hour); return err },
		"Get":    func() error { _, err := s.Get(t.Context(), key("s"), session.Read{}); return err },
		"Patch":  func() error { return s.Patch(t.Context(), key("s"), say("e")) },
		"Queued": func() error { _, err := s.CountQueued(t.Context()); return err },
	}
	failed := make(chan string, len(calls))
	for name, call := range calls {
		go func() {
			if err := call(); err == nil || errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: error %v", name, err)
			}
			failed <- name
		}()
	}
	limit := time.After(5 * time.Minute)
	for range len(calls) {
		select {
		case name := <-failed:
			delete(calls, name)
		case <-limit:
			for name := range calls {
				t.Errorf("%s still waits", name)
			}
			return
		}
	}
}

// Damage is found when the damaged data is read, and not before. Events that are
// older than checksums have to be JSON.
func TestDamaged(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	for _, id := range []string{"flipped", "old", "old-broken", "well"} {
		if _, err := s.Create(t.Context(), session.NewSession{Key: key(id), Log: []*session.Entry{say("one"), say("two"), say("three")}}); err != nil {
			t.Fatal(err)
		}
	}
	const of = ` FROM parley_sessions s WHERE s.ordinal = parley_events.session AND parley_events.seq >= 2 AND s.id = `
	sql(t, database,
		`UPDATE parley_events SET json = set_byte(json, position('This'::bytea IN json), 120)`+of+`'flipped'`,
		`UPDATE parley_events SET sum = NULL`+of+`'old'`,
		`UPDATE parley_events SET sum = NULL, json = substr(json, 2)`+of+`'old-broken'`)
	for id, damaged := range map[string]bool{"flipped": true, "old": false, "old-broken": true, "well": false} {
		_, err := s.Get(t.Context(), key(id), session.Read{})
		e, ok := errors.AsType[*session.CorruptError](err)
		if ok != damaged || err != nil && !ok || ok && (e.Seq != 2 || e.Key != key(id)) {
			t.Errorf("Get(%s): error %v", id, err)
		}
		if _, err := s.Get(t.Context(), key(id), session.Read{After: 3}); err != nil {
			t.Errorf("Get(%s) of what comes after it: error %v", id, err)
		}
		begun, err := s.Begin(t.Context(), session.NewRun{ID: "r-" + id, Key: key(id), Request: request, Busy: session.Reject})
		if err != nil || (begun.Session.Damage() != nil) != damaged {
			t.Errorf("Begin(%s): error %v", id, err)
		}
	}
	report, err := doctor.Examine(t.Context(), session.NewStore(s), true)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range report.Problems {
		found = append(found, p.String())
	}
	want := []string{}
	for _, id := range []string{"flipped", "old-broken"} {
		for seq := 2; seq <= 3; seq++ {
			want = append(want, fmt.Sprintf("app/user/%s #%d: the event is damaged: its bytes are not those that were written", id, seq))
		}
	}
	if slices.Sort(found); !slices.Equal(found, want) {
		t.Errorf("the doctor finds\n%s", strings.Join(found, "\n"))
	}
}
