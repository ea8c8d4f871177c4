package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/storetest"
)

// sql runs statements on a connection of its own.
func sql(tb testing.TB, url string, statements ...string) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(tb.Context()))
	for _, s := range statements {
		if _, err := conn.Exec(tb.Context(), s); err != nil {
			tb.Fatalf("%s: %v", s, err)
		}
	}
}

// with adds a parameter to the URL of a database.
func with(tb testing.TB, database, name, value string) string {
	tb.Helper()
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // a plus is a plus to Postgres
	return u.String()
}

func TestPersistence(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	c := &talk{key: key("s")}
	for i := range 3 {
		s, err := postgres.Open(t.Context(), database, session.Options{Owner: fmt.Sprint(i), Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(t.Context(), session.NewSession{Key: c.key}); (err == nil) != (i == 0) {
			t.Errorf("Create: %v", err)
		}
		c.check(t, s)
		if err := c.turn(t.Context(), s); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing twice: %v", err)
		}
	}
}

// Replicas are started together, on a database that none of them has seen.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), database, session.Options{Owner: fmt.Sprint(i)})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			defer s.Close()
			if _, err := s.Create(t.Context(), session.NewSession{Key: key(fmt.Sprint(i))}); err != nil {
				t.Errorf("Create: %v", err)
			}
		})
	}
	wg.Wait()
	keys, _, err := open(t, database, session.Options{}).Walk(t.Context(), session.Page{})
	if err != nil || len(keys) != 10 {
		t.Errorf("%d sessions are there, error %v", len(keys), err)
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	open(t, database, session.Options{})
	sql(t, database, "INSERT INTO parley_schema (version) VALUES (99)")
	_, err := postgres.Open(t.Context(), database, session.Options{})
	want := regexp.MustCompile(`the database was written by a newer version of Parley \(schema 99, this one knows [0-9]+\): use that version, or another database`)
	if err == nil || !want.MatchString(err.Error()) {
		t.Errorf("Open: error %v, want %s", err, want)
	}
}

// Two servers share a database without knowing of one another, each in a schema
// of its own.
func TestSearchPath(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	sql(t, database, "CREATE SCHEMA one", "CREATE SCHEMA two")
	one := open(t, with(t, database, "search_path", "one"), session.Options{})
	two := open(t, with(t, database, "search_path", "two,one"), session.Options{})
	for _, s := range []*postgres.Backend{one, two} {
		if _, err := s.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
			t.Error(err)
		}
	}
	if err := one.Delete(t.Context(), key("s")); err != nil {
		t.Error(err)
	}
	if _, err := two.Get(t.Context(), key("s"), session.Read{}); err != nil {
		t.Error(err)
	}
	if _, err := postgres.Open(t.Context(), with(t, database, "search_path", "nowhere"), session.Options{}); err == nil || !strings.Contains(err.Error(), "search_path") {
		t.Errorf("Open without a schema: error %v", err)
	}
}

// A pooler in front of the database does not let statements be prepared. The
// URL says so.
func TestExecModes(t *testing.T) {
	t.Parallel()
	server := pgtest.Quick(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := open(t, with(t, server.Database(t), "default_query_exec_mode", mode), session.Options{Lease: time.Minute})
			c := &talk{key: key("s")}
			if _, err := s.Create(t.Context(), session.NewSession{
				Key: c.key, TTL: time.Hour, State: session.State{"a\x00\xff": []byte(`"\u0000'\\"`), session.MetadataKey: []byte(`{"displayName":"Ünder","labels":{"a":"b"}}`)},
			}); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if err := c.turn(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			c.check(t, s)
			got, err := s.Get(t.Context(), c.key, session.Read{Initial: true})
			if err != nil || string(got.State["a\x00\xff"]) != `"\u0000'\\"` || string(got.Initial["a\x00\xff"]) != `"\u0000'\\"` {
				t.Errorf("Get: %+v, error %v", got, err)
			}
			list, _, err := s.List(t.Context(), "app", "user", session.Page{Size: 1, Filter: session.Filter{
				Title: "üN", Labels: map[string]string{"a": "b"}, Since: got.Created, Before: time.Now().Add(time.Hour),
			}})
			if err != nil || len(list) != 1 || list[0].Seq != got.Seq {
				t.Errorf("List: %v, error %v", list, err)
			}
			if _, err := s.Begin(t.Context(), session.NewRun{ID: "r", Key: c.key, Request: request}); err != nil {
				t.Error(err)
			}
			if _, err := s.Begin(t.Context(), session.NewRun{ID: "q", Key: c.key, Request: request, Busy: session.Interrupt}); err != nil {
				t.Error(err)
			}
			if r, err := s.StopRun(t.Context(), c.key, "q", session.StopCancel); err != nil || r.Status != session.Cancelled {
				t.Errorf("StopRun: %+v, error %v", r, err)
			}
			if held, err := s.Renew(t.Context()); err != nil || len(held) != 1 || held[0].Stop != session.StopCancel {
				t.Errorf("Renew: %+v, error %v", held, err)
			}
			if _, err := s.Rebuild(t.Context(), c.key); !errors.Is(err, session.ErrFenced) {
				t.Errorf("Rebuild: %v", err)
			}
			if _, done, err := s.Sweep(t.Context(), time.Nanosecond); err != nil || !done {
				t.Errorf("Sweep: %v", err)
			}
			if keys, err := s.Idle(t.Context(), 5); err != nil || len(keys) != 0 {
				t.Errorf("Idle: %v, error %v", keys, err)
			}
			if err := s.Delete(t.Context(), c.key); err != nil {
				t.Error(err)
			}
		})
	}
}

// cancellingLog is a log whose reader does not wait any longer.
type cancellingLog struct {
	lines  strings.Builder
	cancel context.CancelFunc
}

func (i *cancellingLog) Write(line []byte) (int, error) {
	i.cancel()
	return i.lines.Write(line)
}

func TestWaitingForTheDatabaseIsLogged(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	log := &cancellingLog{cancel: cancel}
	_, err := postgres.Open(ctx, "postgres://user:hunter2@127.0.0.1:1/nothing", session.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	if err == nil || !strings.Contains(log.lines.String(), "does not answer yet") || strings.Contains(log.lines.String(), "hunter2") {
		t.Errorf("error %v, log %s", err, log.lines.String())
	}
}

// What goes wrong is told to people who must not learn the password from it.
func TestNoPasswordInErrors(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	server := pgtest.Quick(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, bad := range []string{
		"postgres://user:" + secret + "@127.0.0.1:1/db?sslmode=disable",
		"postgres://user:" + secret + "@nowhere.invalid/db?sslmode=disable",
		"postgres://postgres:" + secret + "@" + server.Addr() + "/postgres?sslmode=disable",
		"postgres://postgres:" + secret + "@" + server.Addr() + "/postgres?sslmode=require",
		"postgres://user:" + secret + "%zz@host/db",
		"postgres://user:" + secret + "@host:port:port/db",
		"postgres://user:" + secret + "@host/db?sslmode=" + secret,
		"postgres://user:" + secret + "@host/db?pool_max_conns=" + secret,
		"postgres://us er:" + secret + "@host/db",
		"host=127.0.0.1 port=1 user=u password=" + secret + " sslmode=disable",
		"host=127.0.0.1 port=x password='" + secret,
		"mysql://user:" + secret + "@host/db",
		secret,
	} {
		s, err := postgres.Open(ctx, bad, session.Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", bad)
		} else if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, errors.Unwrap(err)), secret) {
			t.Errorf("the error for %s has the password: %v", bad, err)
		}
	}
}

// A list of a user who has many sessions, beside others who have more, is read
// from the index, a page at a time; and an append changes no index.
func TestPlans(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	sql(t, database, `INSERT INTO parley_sessions (digest, owner, app, usr, id, hidden, nonce, ttl, created, updated)
		SELECT sha256(int4send(n)), sha256(int4send(n % 10)), 'app', 'user', n::text, false, n, 0, now(), now() FROM generate_series(1, 20000) n`)
	for _, statistics := range []string{"none", "ANALYZE"} { // a planner without any must find the index, too
		if statistics != "none" {
			sql(t, database, statistics)
		}
		plan := explain(t, database, postgres.SQLList, []byte("owner"), int64(1)<<62, int64(51))
		if !strings.Contains(plan, "Index Scan Backward using parley_sessions_list") || strings.Contains(plan, "Sort Key: s.owner") {
			t.Errorf("with statistics %s, the plan of a list is\n%s", statistics, plan)
		}
	}

	if _, err := s.Create(t.Context(), session.NewSession{Key: key("s")}); err != nil {
		t.Fatal(err)
	}
	begun, err := s.Begin(t.Context(), session.NewRun{ID: "r", Key: key("s"), Request: request})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := s.Append(t.Context(), key("s"), begun.Run.Epoch, nil, say(fmt.Sprint("e", i), "n", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	// Statistics arrive late, and sooner when their connection has ended.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var all, hot int64
		one(t, database, `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'parley_sessions'`, &all, &hot)
		if all >= 200 {
			if hot < all*9/10 {
				t.Errorf("%d of %d updates left the indexes alone", hot, all)
			}
			t.Logf("%d of %d updates left the indexes alone", hot, all)
			return
		}
		if time.Now().After(until) {
			t.Fatal("the database does not count its updates")
		}
	}
}

func explain(t *testing.T, database, statement string, args ...any) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), "EXPLAIN "+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Clip(lines), "\n")
}

// one reads one row on a connection of its own.
func one(t *testing.T, database, statement string, into ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), statement).Scan(into...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Feedback that was stored before there was an index of it is listed.
func TestOpenFindsOldFeedback(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.RunOldFeedback(t, session.NewStore(open(t, database, session.Options{})), func() session.Store {
		sql(t, database, `ALTER TABLE parley_runs DROP COLUMN list_app CASCADE, DROP COLUMN list_user`, `DROP TABLE parley_feedback`, `ALTER TABLE parley_said_until DROP COLUMN feedback`, `DELETE FROM parley_schema WHERE version >= 22`)
		return session.NewStore(open(t, database, session.Options{}))
	})
}

// Runs that were stored before they were listed are listed.
func TestOpenListsOldRuns(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.RunOldRuns(t, session.NewStore(open(t, database, session.Options{})), func() session.Store {
		sql(t, database, `ALTER TABLE parley_runs DROP COLUMN list_app CASCADE, DROP COLUMN list_user`, `DELETE FROM parley_schema WHERE version >= 23`)
		return session.NewStore(open(t, database, session.Options{}))
	}, func(id string) {
		sql(t, database, `INSERT INTO parley_runs (session, number, id, status, nonce, created, ended)
			SELECT ordinal, nextval('parley_numbers'), '`+id+`', 'completed', 1, clock_timestamp(), clock_timestamp() FROM parley_sessions WHERE id = 's'`)
	})
}

// Runs that were answered before anything was stored about it are completed when
// the database is opened.
func TestOpenSettlesOldWaits(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	open(t, database, session.Options{})
	sql(t, database, `ALTER TABLE parley_runs DROP COLUMN list_app CASCADE, DROP COLUMN list_user`, `ALTER TABLE parley_runs DROP COLUMN resumed_by, DROP COLUMN models`, `ALTER TABLE parley_sessions DROP COLUMN origin, DROP COLUMN root, DROP COLUMN subscriptions`, `DROP TABLE parley_deaths, parley_deliveries, parley_endpoints, parley_published, parley_subscriptions, parley_usage_log, parley_model_usage, parley_recordings, parley_recording_parts, parley_firings, parley_schedules, parley_feedback, parley_said, parley_said_until, parley_place, parley_members, parley_slots, parley_moving`, `DROP INDEX parley_sessions_hidden, parley_runs_waiting_of`, `ALTER TABLE parley_state DROP COLUMN stamp, DROP COLUMN origin`, `ALTER TABLE parley_events DROP COLUMN sum`, `DELETE FROM parley_schema WHERE version >= 6`,
		`INSERT INTO parley_runs (session, number, nonce, id, status, resumes, first, created, ended)
		SELECT 1, number, number, id, status, resumes, number, now(), now() FROM (VALUES
			(1, 'w1', 'waiting', ''), (2, 'w2', 'waiting', 'w1'), (3, 'done', 'completed', 'w2'),
			(4, 'open1', 'waiting', ''), (5, 'open2', 'waiting', 'open1'),
			(6, 'w3', 'waiting', ''), (7, 'broke', 'failed', 'w3'),
			(8, 'w4', 'waiting', ''), (9, 'undone', 'cancelled', 'w4')) AS r (number, id, status, resumes)`)
	open(t, database, session.Options{})
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), `SELECT trim(id || ' ' || status || ' ' || resumed_by) FROM parley_runs ORDER BY number`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	want := []string{
		"w1 completed w2", "w2 completed done", "done completed", "open1 waiting", "open2 waiting",
		"w3 completed broke", "broke failed", "w4 waiting", "undone cancelled",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("runs are %v, error %v, want %v", got, err, want)
	}
}
