package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/storetest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var owners, schemas atomic.Int64

// open opens a database until the end of the test.
func open(tb testing.TB, url string, o session.Options) *postgres.Backend {
	tb.Helper()
	if o.Owner == "" {
		o.Owner = fmt.Sprint("owner-", owners.Add(1))
	}
	s, err := postgres.OpenBackend(tb.Context(), url, o)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return s
}

// free are the schemas of each database that no test uses.
var free sync.Map // of *schemaList

// empty is a schema that the test has for itself. The many tests of the suite use those
// of others again: to make the tables takes longer than most of these tests.
func empty(t *testing.T, database string) string {
	t.Helper()
	known, _ := free.LoadOrStore(database, &schemaList{})
	list := known.(*schemaList)
	url := list.take()
	if url == "" {
		schema := fmt.Sprint("schema_", schemas.Add(1))
		sql(t, database, "CREATE SCHEMA "+schema)
		url = with(t, database, "search_path", schema)
	}
	t.Cleanup(func() {
		if !t.Failed() && clearTables(t, url) {
			list.put(url)
		}
	})
	return url
}

type schemaList struct {
	mu   sync.Mutex
	urls []string
}

func (l *schemaList) take() (url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.urls); n > 0 {
		url, l.urls = l.urls[n-1], l.urls[:n-1]
	}
	return url
}

func (l *schemaList) put(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.urls = append(l.urls, url)
}

// sqlClearTables deletes all rows, except the version of the schema.
const sqlClearTables = `DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'parley_schema' LOOP
		EXECUTE 'DELETE FROM ' || t;
	END LOOP; END $$`

// clearTables reports whether the tables of a schema are empty now. The server may have
// been stopped by the test.
func clearTables(t *testing.T, url string) bool {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sqlClearTables)
	return err == nil
}

func TestStore(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.Run(t, func(t *testing.T, lease time.Duration) session.Store {
		t.Helper()
		return session.NewStore(open(t, empty(t, database), session.Options{Lease: lease}))
	})
}

// Several processes share a database. One makes the changes of several sessions
// together, the others do not.
func TestSharedTogether(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	together := func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t, database)
		opened := 0
		return func(o session.Options) session.Store {
			t.Helper()
			s := open(t, url, o)
			if opened++; opened%2 == 1 {
				s.AlwaysTogether()
			}
			return session.NewStore(s)
		}
	}
	storetest.RunShared(t, together)
	storetest.RunOutbox(t, together)
}

// Several processes share a database.
func TestShared(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.RunShared(t, func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t, database)
		return func(o session.Options) session.Store {
			t.Helper()
			return session.NewStore(open(t, url, o))
		}
	})
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.RunAPIKeys(t, func(t *testing.T) session.APIKeys {
		t.Helper()
		return open(t, empty(t, database), session.Options{})
	})
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.RunOutbox(t, func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t, database)
		return func(o session.Options) session.Store {
			t.Helper()
			return session.NewStore(open(t, url, o))
		}
	})
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.RunRecordings(t, func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t, database)
		return func(o session.Options) session.Store {
			t.Helper()
			return session.NewStore(open(t, url, o))
		}
	})
}

func TestRecordingParts(t *testing.T) {
	t.Parallel()
	url := pgtest.Quick(t).Database(t)
	store := session.NewStore(open(t, url, session.Options{}))
	storetest.RunRecordingParts(t, store, func() int { return count(t, url, "parley_recording_parts") })
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.RunSchedules(t, func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t, database)
		return func(o session.Options) session.Store {
			t.Helper()
			return session.NewStore(open(t, url, o))
		}
	})
}

func TestSearch(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	storetest.RunSearch(t, func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t, database)
		return func(o session.Options) session.Store {
			t.Helper()
			return session.NewStore(open(t, url, o))
		}
	})
}
