package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/storetest"
)

func TestMain(m *testing.M) {
	postgres.SetNewPool(spare.pool)
	testkit.Main(m, spare.close, pgtest.Cleanup)
}

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

func TestStore(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.Run(t, func(t *testing.T, lease time.Duration) session.Store {
		t.Helper()
		return session.NewStore(open(t, empty(t, database), session.Options{Lease: lease}))
	})
}

// Several processes share a database. One makes the changes of several sessions
// together, the others do not.
func TestSharedTogether(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
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

// opens returns what opens stores in one database, which is empty for each test.
func opens(database string) func(*testing.T) func(session.Options) session.Store {
	return func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t, database)
		return func(o session.Options) session.Store {
			t.Helper()
			return session.NewStore(open(t, url, o))
		}
	}
}

// Several processes share a database.
func TestShared(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.RunShared(t, opens(database))
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.RunAPIKeys(t, func(t *testing.T) session.APIKeys {
		t.Helper()
		return open(t, empty(t, database), session.Options{})
	})
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.RunOutbox(t, opens(database))
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.RunRecordings(t, opens(database))
}

func TestRecordingParts(t *testing.T) {
	t.Parallel()
	url := pgtest.Quick(t).Database(t)
	store := session.NewStore(open(t, url, session.Options{}))
	storetest.RunRecordingParts(t, store, func() int { return count(t, url, "parley_recording_parts") })
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.RunSchedules(t, opens(database))
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.RunFeedback(t, opens(database))
}

func TestSearch(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.RunSearch(t, opens(database))
}

// The texts of a session are deleted with it.
func TestTextsAreDeleted(t *testing.T) {
	t.Parallel()
	database := pgtest.Quick(t).Database(t)
	s := open(t, database, session.Options{Lease: time.Minute})
	for _, id := range []string{"gone", "kept"} {
		if _, err := s.Create(t.Context(), session.NewSession{Key: key(id), Log: []*session.Entry{say(id + "-text")}}); err != nil {
			t.Fatal(err)
		}
	}
	for done := false; !done; {
		var err error
		if done, err = s.Index(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(t, database, "parley_said"); n != 2 {
		t.Fatalf("%d texts are indexed, not two", n)
	}
	if err := s.Delete(t.Context(), key("gone")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, database, "parley_said"); n != 1 {
		t.Errorf("%d texts are left, not one", n)
	}
}
