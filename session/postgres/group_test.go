package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
)

// holding makes calls at the same time, and lets them begin together when all queue.
func holding(t *testing.T, s *postgres.Backend, calls ...func() error) []error {
	t.Helper()
	queued, release := s.HoldGroup()
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	testkit.Eventually(t, "the changes queue", func() bool { return queued() == len(calls) })
	release()
	wg.Wait()
	return errs
}

// locking returns a transaction that has locked sessions.
func locking(t *testing.T, database, sessions string) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM parley_sessions WHERE "+sessions); err != nil {
		t.Fatal(err)
	}
	return tx
}

// begun creates a session and begins a run.
func begun(t *testing.T, s *postgres.Backend, id string) int64 {
	t.Helper()
	if _, err := s.Create(t.Context(), session.NewSession{Key: key(id)}); err != nil {
		t.Fatal(err)
	}
	b, err := s.Begin(t.Context(), starting(id, "run"))
	if err != nil {
		t.Fatal(err)
	}
	return b.Run.Epoch
}

func starting(id, run string) session.NewRun {
	return session.NewRun{ID: run, Key: key(id), Request: request, Message: say(run+"-message", "count", "1"), Busy: session.Reject}
}

// transactionsOf returns the number of transactions that have added the last entries of
// sessions whose ids match a pattern.
func transactionsOf(t *testing.T, database, pattern string) (n int) {
	t.Helper()
	one(t, database, `SELECT count(DISTINCT e.xmin::text) FROM parley_events e JOIN parley_sessions s ON s.ordinal = e.session AND s.seq = e.seq
		WHERE s.id ~ '`+pattern+`'`, &n)
	return n
}

var errBusy = errors.New("the session is busy")

// Changes that queue are made by one transaction. One that cannot be made does not
// disturb the others.
func TestTogether(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	const each = 5
	var calls []func() error
	entries := map[string]*session.Entry{}
	for i := range each {
		// The second entry of each of these sessions.
		id := fmt.Sprint("append", i)
		epoch, e := begun(t, s, id), say(id, "step", fmt.Sprint(i))
		entries[id] = e
		calls = append(calls, func() error { return s.Append(t.Context(), key(id), epoch, nil, e) })

		id2 := fmt.Sprint("end", i)
		epoch2, last := begun(t, s, id2), say(id2)
		entries[id2] = last
		calls = append(calls, func() error {
			_, err := s.End(t.Context(), key(id2), epoch2, session.End{Status: session.Completed, Entries: []*session.Entry{last}, Usage: event.Usage{Total: 7}})
			return err
		})

		id3 := fmt.Sprint("begin", i)
		if _, err := s.Create(t.Context(), session.NewSession{Key: key(id3), Log: []*session.Entry{say("one"), say("two")}}); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, func() error {
			b, err := s.Begin(t.Context(), starting(id3, id3))
			if err == nil && (b.Session == nil || b.Session.Seq != 2 || len(b.Session.Entries) != 2 || b.Session.Entries[1].Seq != 2 || b.Run.First != 3) {
				err = fmt.Errorf("it has begun as %+v after %+v", b.Run, b.Session)
			}
			return err
		})
	}
	good := len(calls)
	fenced := map[string]int64{"moved1": begun(t, s, "moved1"), "moved2": begun(t, s, "moved2")}
	for id, epoch := range fenced {
		if err := s.HandOver(t.Context(), key(id), epoch); err != nil {
			t.Fatal(err)
		}
	}
	begun(t, s, "busy")
	refused := []struct {
		call func() error
		want error
	}{
		{func() error { return s.Append(t.Context(), key("moved1"), fenced["moved1"], nil, say("late")) }, session.ErrFenced},
		{func() error {
			_, err := s.End(t.Context(), key("moved2"), fenced["moved2"], session.End{Status: session.Failed})
			return err
		}, session.ErrFenced},
		{func() error { _, err := s.Begin(t.Context(), starting("nowhere", "x")); return err }, session.ErrNotFound},
		{func() error {
			_, err := s.Begin(t.Context(), starting("busy", "x"))
			if _, busy := errors.AsType[*session.BusyError](err); busy {
				return errBusy
			}
			return err
		}, errBusy},
	}
	for _, r := range refused {
		calls = append(calls, r.call)
	}
	locking(t, database, "true FOR KEY SHARE") // as those who index them, or record their runs
	errs := holding(t, s, calls...)
	for i, err := range errs[:good] {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	for i, r := range refused {
		if !errors.Is(errs[good+i], r.want) {
			t.Errorf("refused call %d: %v, want %v", i, errs[good+i], r.want)
		}
	}
	if n := transactionsOf(t, database, "^(append|end|begin)"); n != 1 {
		t.Errorf("there were %d transactions", n)
	}
	for id, e := range entries {
		got, err := s.Get(t.Context(), key(id), session.Read{})
		if err != nil || e.Seq != 2 || got.Seq != 2 || string(got.Entries[1].JSON) != string(e.JSON) {
			t.Errorf("%s: %+v, error %v, want the entry %d", id, got, err, e.Seq)
		}
		if n, ok := strings.CutPrefix(id, "append"); ok && string(got.State["step"]) != n {
			t.Errorf("%s: the state is %s", id, got.State)
		}
		run, err := s.Run(t.Context(), key(id), "run")
		if err != nil || strings.HasPrefix(id, "end") && (run.Status != session.Completed || run.Last != 2 || run.Usage.Total != 7) {
			t.Errorf("%s: the run is %+v, error %v", id, run, err)
		}
	}
}

// A change that the database refuses, and a session that is locked, leave the others of
// the transaction alone.
func TestTogetherWithTrouble(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	epochs := map[string]int64{}
	for _, id := range []string{"one", "two", "locked"} {
		epochs[id] = begun(t, s, id)
	}
	add := func(id, what string) func() error {
		return func() error { return s.Append(t.Context(), key(id), epochs[id], nil, say(what)) }
	}
	if _, err := s.Create(t.Context(), session.NewSession{Key: key("bad")}); err != nil {
		t.Fatal(err)
	}
	bad := func() error {
		_, err := s.Begin(t.Context(), starting("bad", "a run with a \x00"))
		return err
	}
	if errs := holding(t, s, add("one", "a"), bad, add("two", "a")); errs[0] != nil || errs[1] == nil || errs[2] != nil {
		t.Errorf("the errors are %v", errs)
	}

	tx := locking(t, database, "id = 'locked' FOR UPDATE")
	late := make(chan error, 1)
	others := func(call func() error) func() error { // the lock is held until these have ended
		return func() error {
			defer func() { late <- nil }()
			return call()
		}
	}
	unlock := make(chan error, 1)
	go func() {
		<-late
		<-late
		unlock <- tx.Rollback(context.WithoutCancel(t.Context()))
	}()
	for i, err := range holding(t, s, others(add("one", "b")), add("locked", "b"), others(add("two", "b"))) {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if err := <-unlock; err != nil {
		t.Error(err)
	}
	for id, want := range map[string]int64{"one": 3, "two": 3, "locked": 2} {
		if got, err := s.Get(t.Context(), key(id), session.Read{}); err != nil || got.Seq != want {
			t.Errorf("%s: %+v, error %v", id, got, err)
		}
	}
}

// A change that waits for a lock, alone, does not hold up those of other sessions.
func TestGroupBesideALock(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	locked, free := begun(t, s, "locked"), begun(t, s, "free")
	tx := locking(t, database, "id = 'locked' FOR UPDATE")
	waiting := make(chan error, 1)
	go func() { waiting <- s.Append(t.Context(), key("locked"), locked, nil, say("late")) }()
	testkit.Eventually(t, "the change waits for the lock", func() bool {
		var n int
		err := tx.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&n)
		return err == nil && n > 0
	})
	if err := s.Append(t.Context(), key("free"), free, nil, say("now")); err != nil {
		t.Error(err)
	}
	select {
	case err := <-waiting:
		t.Errorf("the other one waited for the lock: %v", err)
	default:
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// While a transaction takes long, there is a second one if many changes queue. It does not
// overtake the first with another change of the same session.
func TestSecondTransaction(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	s.WaitForGroup() // otherwise there is another one after a while
	s.SetPatience(time.Hour)
	locked := begun(t, s, "locked")
	epochs := make([]int64, postgres.SecondAt)
	for i := range epochs {
		epochs[i] = begun(t, s, fmt.Sprint("free", i))
	}
	tx := locking(t, database, "id = 'locked' FOR UPDATE")
	waiting := make(chan error, 2)
	add := func(n int) { waiting <- s.Append(t.Context(), key("locked"), locked, nil, say(fmt.Sprint(n))) }
	go add(1)
	testkit.Eventually(t, "the first change waits for the lock", func() bool {
		var n int
		err := tx.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
		return err == nil && n > 0
	})
	var wg sync.WaitGroup
	for i, epoch := range epochs {
		wg.Go(func() {
			if err := s.Append(t.Context(), key(fmt.Sprint("free", i)), epoch, nil, say("now")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := transactionsOf(t, database, "^free"); n != 1 {
		t.Errorf("there were %d transactions", n)
	}
	go add(2)
	testkit.Eventually(t, "the second change of the session queues", func() bool { return s.Queued() == 1 })
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
	got, err := s.Get(t.Context(), key("locked"), session.Read{After: 1})
	if err != nil || len(got.Entries) != 2 {
		t.Fatalf("%+v, error %v", got, err)
	}
	for i, e := range got.Entries {
		if ev, err := e.Decode(); err != nil || ev.ID != fmt.Sprint(i+1) {
			t.Errorf("entry %d is %s, error %v", i, ev.ID, err)
		}
	}
}

// A second transaction is as large as the first one, which has more changes than a second
// one needs at least.
func TestLargeSecondTransaction(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	s.WaitForGroup()
	s.SetPatience(time.Hour)
	const size = postgres.SecondAt + 4
	ids, epochs := make([]string, 2*size), make([]int64, 2*size)
	for i := range ids {
		ids[i] = fmt.Sprint("large", i)
		epochs[i] = begun(t, s, ids[i])
	}
	tx := locking(t, database, "false")
	if _, err := tx.Exec(t.Context(), "LOCK TABLE parley_events IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	add := func(i int) {
		wg.Go(func() {
			if err := s.Append(t.Context(), key(ids[i]), epochs[i], nil, say(ids[i]+"-now")); err != nil {
				t.Error(err)
			}
		})
	}
	queued, release := s.HoldGroup()
	for i := range size {
		add(i)
	}
	testkit.Eventually(t, "the changes queue", func() bool { return queued() == size })
	release()
	testkit.Eventually(t, "the first transaction has all of them", func() bool { return queued() == 0 })
	for i := size; i < 2*size-1; i++ {
		add(i)
	}
	testkit.Eventually(t, "the next changes queue", func() bool { return queued() == size-1 })
	add(2*size - 1)
	testkit.Eventually(t, "the second transaction has all of them", func() bool { return queued() == 0 })
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if n := transactionsOf(t, database, "^large"); n != 2 {
		t.Errorf("there were %d transactions, not two", n)
	}
}

// A caller who leaves the queue does not change anything, and does not disturb others.
// Several changes of one session keep their order.
func TestQueue(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.Quick(t).Database(t), session.Options{Lease: time.Minute})
	s.WaitForGroup() // the order is that of the transactions
	one, two := begun(t, s, "one"), begun(t, s, "two")
	queued, release := s.HoldGroup()
	left, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- s.Append(left, key("one"), one, nil, say("gone")) }()
	testkit.Eventually(t, "the changes queue", func() bool { return queued() == 1 })
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who left got %v", err)
	}
	done := make(chan error, 10)
	for i := range 5 {
		for _, to := range []struct {
			id    string
			epoch int64
		}{{"one", one}, {"two", two}} {
			n := queued()
			go func() { done <- s.Append(t.Context(), key(to.id), to.epoch, nil, say(fmt.Sprint(i))) }()
			testkit.Eventually(t, "the changes queue", func() bool { return queued() == n+1 })
		}
	}
	release()
	for range 10 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"one", "two"} {
		got, err := s.Get(t.Context(), key(id), session.Read{After: 1})
		if err != nil || len(got.Entries) != 5 {
			t.Fatalf("%s: %+v, error %v", id, got, err)
		}
		for i, e := range got.Entries {
			if ev, err := e.Decode(); err != nil || ev.ID != fmt.Sprint(i) {
				t.Errorf("%s: entry %d is %s, error %v", id, i, ev.ID, err)
			}
		}
	}
}

// Usage is exact while it is summed up, by several processes.
func TestUsageIsExact(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	stores := []*postgres.Backend{open(t, database, session.Options{Lease: time.Minute}), open(t, database, session.Options{Lease: time.Minute})}
	const people, turns = 6, 10
	total := func() (sum session.Usage) {
		t.Helper()
		list, _, err := stores[0].Usage(t.Context(), session.UsageQuery{App: "app", User: "user", From: "2000-01-01", To: "2999-01-01"}, session.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range list {
			sum.Runs += u.Runs
			sum.Tokens.Add(&u.Tokens)
		}
		return sum
	}
	var wg sync.WaitGroup
	for i := range people {
		s, id := stores[i%2], fmt.Sprint("s", i)
		if _, err := s.Create(t.Context(), session.NewSession{Key: key(id)}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for n := range turns {
				b, err := s.Begin(t.Context(), starting(id, fmt.Sprint(n)))
				if err == nil {
					_, err = s.End(t.Context(), key(id), b.Run.Epoch, session.End{Status: session.Completed, Usage: event.Usage{Prompt: 1, Total: 3}})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range turns {
				s.Fold()
			}
		})
	}
	wg.Wait()
	check := func() {
		t.Helper()
		if got := total(); got.Runs != people*turns || got.Tokens.Total != 3*people*turns || got.Tokens.Prompt != people*turns {
			t.Errorf("usage is %+v", got)
		}
	}
	check()
	stores[0].Fold()
	check()
	if n := count(t, database, "parley_usage_log"); n != 0 {
		t.Errorf("%d rows are not summed up", n)
	}
}

// populate adds sessions to a database, with runs, events and states.
func populate(tb testing.TB, database string) {
	tb.Helper()
	sql(tb, database, `INSERT INTO parley_sessions (digest, owner, app, usr, id, hidden, nonce, ttl, created, updated)
			SELECT sha256(int4send(n)), sha256(int4send(n % 10)), 'app', 'user', n::text, false, n, 0, now(), now() FROM generate_series(1, 20000) n`,
		`INSERT INTO parley_runs (session, number, id, status, nonce, created) SELECT n, n, n::text, 'completed', n, now() FROM generate_series(1, 20000) n`,
		`INSERT INTO parley_events (session, seq, json) SELECT n / 4, n % 4, '{}' FROM generate_series(1, 40000) n`,
		`INSERT INTO parley_state (owner, name, value) SELECT int8send(n), 'a', '1' FROM generate_series(1, 20000) n`)
}

// The statements find what they change by indexes, whatever the number of sessions.
func TestPlansTogether(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	open(t, database, session.Options{Lease: time.Minute})
	populate(t, database)
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	run := func(statement string) []string {
		t.Helper()
		results, err := conn.PgConn().Exec(t.Context(), statement).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		var lines []string
		for _, row := range results[0].Rows {
			lines = append(lines, string(row[0]))
		}
		return lines
	}
	run("SET plan_cache_mode = force_generic_plan")
	for _, statistics := range []string{"none", "ANALYZE", "few"} {
		switch statistics {
		case "ANALYZE":
			run("ANALYZE")
		case "few": // the plan stays when there are more
			run("TRUNCATE parley_sessions CASCADE")
			run(`INSERT INTO parley_sessions (digest, owner, app, usr, id, hidden, nonce, ttl, created, updated)
				SELECT sha256(int4send(n)), sha256(int4send(n % 10)), 'app', 'user', n::text, false, n, 0, now(), now() FROM generate_series(1, 600) n`)
			run("ANALYZE parley_sessions")
		}
		n := 0
		statements := maps.Clone(postgres.SQLTogether)
		maps.Copy(statements, postgres.SQLFindRuns)
		for statement, parameters := range statements {
			if n++; statistics == "few" && postgres.SQLTogether[statement] == 0 {
				continue
			}
			run(fmt.Sprintf("PREPARE p_%s_%d AS %s", statistics, n, statement))
			plan := strings.Join(run(fmt.Sprintf("EXPLAIN EXECUTE p_%s_%d (%s)", statistics, n, strings.Repeat("NULL, ", parameters-1)+"NULL")), "\n")
			if strings.Contains(plan, "Seq Scan on parley_sessions") || strings.Contains(plan, "Seq Scan on parley_runs") ||
				strings.Contains(plan, "Seq Scan on parley_events") || strings.Contains(plan, "Seq Scan on parley_state") ||
				postgres.SQLFindRuns[statement] > 0 && !strings.Contains(plan, "Index Scan Backward using parley_runs_of_") {
				t.Errorf("with statistics %s, the plan of\n%s\nis\n%s", statistics, statement, plan)
			}
		}
	}
}
