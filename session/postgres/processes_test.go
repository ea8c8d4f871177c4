package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
)

// A run is taken over when its lease is over in the clock of the database. The
// clocks of the processes do not matter: here they are ten years behind.
func TestLeaseByDatabaseClock(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	// A clock of our own comes before the one of the system.
	sql(t, database, "CREATE TABLE clock (ahead interval)", "INSERT INTO clock VALUES ('10 years')",
		"CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.clock_timestamp() + ahead FROM public.clock'")
	there := with(t, database, "search_path", "public,pg_catalog")
	a := open(t, there, session.Options{Owner: "a", Lease: time.Minute})
	b := open(t, there, session.Options{Owner: "b", Lease: time.Minute})
	made, err := a.Create(t.Context(), session.NewSession{Key: key("s")})
	if err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(made.Created); ahead < 9*365*24*time.Hour {
		t.Errorf("the session was made %v from now", ahead)
	}
	begun, err := a.Begin(t.Context(), session.NewRun{ID: "run", Key: key("s"), Request: request, Message: say("m")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), key("s"), session.Read{}); !errors.Is(err, session.ErrIdle) {
		t.Errorf("Claim while the lease lasts: %v", err)
	}
	sql(t, database, "UPDATE clock SET ahead = ahead + interval '59 seconds'")
	if _, err := a.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	sql(t, database, "UPDATE clock SET ahead = ahead + interval '55 seconds'")
	if keys, err := b.Idle(t.Context(), 10); err != nil || len(keys) != 0 {
		t.Errorf("idle are %v (%v) while the renewed lease lasts", keys, err)
	}
	sql(t, database, "UPDATE clock SET ahead = ahead + interval '10 seconds'")
	if keys, err := b.Idle(t.Context(), 10); err != nil || len(keys) != 1 {
		t.Errorf("idle are %v (%v) when the lease is over", keys, err)
	}
	taken, err := b.Claim(t.Context(), key("s"), session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	if taken.Run.Attempt != 2 || taken.Run.Epoch <= begun.Run.Epoch || len(taken.Session.Entries) != 1 {
		t.Errorf("taken over is %+v", taken.Run)
	}
	if err := a.Append(t.Context(), key("s"), begun.Run.Epoch, nil, say("late")); !errors.Is(err, session.ErrFenced) {
		t.Errorf("Append of the one who has lost the run: %v", err)
	}
	if held, err := a.Renew(t.Context()); err != nil || len(held) != 0 {
		t.Errorf("a holds %v (%v)", held, err)
	}
	if held, err := b.Renew(t.Context()); err != nil || len(held) != 1 {
		t.Errorf("b holds %v (%v)", held, err)
	}
}

// Other processes are told of a change soon, also after the database was away;
// and no process is told of its own.
func TestWatch(t *testing.T) {
	t.Parallel()
	server, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	a := open(t, server.URL(), session.Options{Owner: "a"})
	b := open(t, server.URL(), session.Options{Owner: "b"})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	ofA, ofB := make(chan uint64, 10_000), make(chan uint64, 10_000)
	wg.Go(func() { a.Watch(ctx, func(hint uint64) { ofA <- hint }) })
	wg.Go(func() { b.Watch(ctx, func(hint uint64) { ofB <- hint }) })
	hear := func(hints chan uint64, want uint64) {
		t.Helper()
		late := time.After(5 * time.Minute)
		for {
			select {
			case got := <-hints:
				if got == want {
					return
				}
			case <-late:
				t.Fatalf("%x was not told", want)
			}
		}
	}
	hear(ofA, 0) // they listen
	hear(ofB, 0)
	for i := range 3 {
		k := key(fmt.Sprint("s", i))
		if _, err := a.Create(ctx, session.NewSession{Key: k}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		hear(ofB, k.Hint())
		t.Logf("told after %v", time.Since(start))
	}
	// More than go into one message.
	const many = 1500
	var creators sync.WaitGroup
	for i := range 15 {
		creators.Go(func() {
			for n := range many / 15 {
				if _, err := a.Create(ctx, session.NewSession{Key: key(fmt.Sprint("many", i, "-", n))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	creators.Wait()
	hear(ofB, key("many14-99").Hint())
	if len(ofA) > 0 {
		t.Errorf("a is told %x of its own changes", <-ofA)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	hear(ofB, 0)
	if err := a.Delete(ctx, key("s0")); err != nil {
		t.Fatal(err)
	}
	hear(ofB, key("s0").Hint())
}

// Deleted keys of a state do not pile up, whatever is read.
func TestDeletedKeysAreOmitted(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{})
	if _, err := s.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		name := fmt.Sprint("app:job", i)
		if err := s.Patch(t.Context(), key("s"), say(fmt.Sprint("set", i), name, "1")); err != nil {
			t.Fatal(err)
		}
		if err := s.Patch(t.Context(), key("s"), say(fmt.Sprint("drop", i), name, "null")); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get(t.Context(), key("s"), session.Read{NoEvents: true}); err != nil || len(got.State) != 0 {
			t.Fatalf("Get: %+v, error %v", got, err)
		}
	}
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if rows := count(t, database, "parley_state"); rows < 150 {
			return
		} else if time.Now().After(until) {
			t.Fatalf("%d rows are left of nothing", rows)
		}
		if _, err := s.Get(t.Context(), key("s"), session.Read{NoEvents: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// A session that is deleted leaves nothing behind but what it has shared.
func TestDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: -1})
	c := &talk{key: key("s")}
	if _, err := s.Create(t.Context(), session.NewSession{Key: c.key, State: session.State{"a": []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 50 {
				_ = s.Patch(t.Context(), c.key, say(fmt.Sprint("p", i, "-", n), fmt.Sprint("k", i, n), "1"))
			}
		})
	}
	if err := c.turn(t.Context(), s); err == nil {
		t.Log("no patch came in between")
	}
	if err := s.Delete(t.Context(), c.key); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for _, table := range []string{"sessions", "initial", "events", "runs", "journal", "tries"} {
		if rows := count(t, database, "parley_"+table); rows != 0 {
			t.Errorf("%d rows of %s are left", rows, table)
		}
	}
	if rows := count(t, database, "parley_state WHERE length(owner) = 8"); rows != 0 {
		t.Errorf("%d keys of the session's state are left", rows)
	}
}

func count(t *testing.T, database, table string) (rows int) {
	t.Helper()
	one(t, database, "SELECT count(*) FROM "+table, &rows)
	return rows
}

// A run of four events, from its message to its end, is five transactions. What others
// are told, and sums of usage, come on top of that: the more, the longer it takes.
func TestTransactions(t *testing.T) {
	t.Parallel()
	const runs = 50
	server := pgtest.Quick(t)
	database := server.Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	told, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close(context.WithoutCancel(t.Context()))
	channel := pgx.Identifier{s.Channel()}.Sanitize()
	var name string
	if _, err := told.Exec(t.Context(), "LISTEN "+channel); err != nil {
		t.Fatal(err)
	}
	if err := told.QueryRow(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := s.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		begun, err := s.Begin(t.Context(), session.NewRun{ID: fmt.Sprint(i), Key: key("s"), Request: request, Message: say(fmt.Sprint("m", i))})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			if err := s.Append(t.Context(), key("s"), begun.Run.Epoch, nil, say(fmt.Sprint("e", i, n))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.End(t.Context(), key("s"), begun.Run.Epoch, session.End{Status: session.Completed}); err != nil {
			t.Fatal(err)
		}
	}
	// The database counts what a connection has done when it ends.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	others := 2 + int(time.Since(start)/postgres.FoldPause)
	if _, err := told.Exec(t.Context(), "NOTIFY "+channel+", 'end'"); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := told.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Payload == "end" {
			break
		}
		others += 2 // the connection that listens takes one, too
	}
	commits := 0
	for until := time.Now().Add(5 * time.Minute); commits < 5*runs; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d transactions are too few for %d runs", commits, runs)
		}
		// From another database: this may take many attempts, which must not count.
		one(t, server.URL(), "SELECT xact_commit FROM pg_stat_database WHERE datname = '"+name+"'", &commits)
	}
	t.Logf("%d transactions for %d runs, and at most %d of them for others", commits, runs, others)
	if commits-others > 5*runs+45 {
		t.Errorf("%d transactions for %d runs, and at most %d of them for others", commits, runs, others)
	}
}

// A process that is stopped while it indexes the texts of a session holds its locks: other
// processes take the run over nevertheless.
func TestClaimBesideAStoppedIndexer(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	a, b := open(t, database, session.Options{Lease: -1}), open(t, database, session.Options{Lease: time.Minute})
	if _, err := a.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Begin(t.Context(), session.NewRun{ID: "run", Key: key("s"), Request: request, Message: say("m")}); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM parley_sessions FOR KEY SHARE"); err != nil {
		t.Fatal(err)
	}
	taken, err := b.Claim(t.Context(), key("s"), session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.StopRun(t.Context(), key("s"), "run", session.StopCancel); err != nil {
		t.Error(err)
	}
	if err := b.Append(t.Context(), key("s"), taken.Run.Epoch, nil, say("on")); err != nil {
		t.Error(err)
	}
	if _, err := b.End(t.Context(), key("s"), taken.Run.Epoch, session.End{Status: session.Completed}); err != nil {
		t.Error(err)
	}
}
