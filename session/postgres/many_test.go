package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/storetest"
)

// openMany opens a list of databases until the end of the test.
func openMany(tb testing.TB, list string, o session.Options) session.Store {
	tb.Helper()
	return storeOf(newMany(tb, list, o))
}

func storeOf(m *postgres.Many) session.Store {
	s := session.NewStore(m)
	s.Keys = m
	return s
}

func newMany(tb testing.TB, list string, o session.Options) *postgres.Many {
	tb.Helper()
	if o.Owner == "" {
		o.Owner = fmt.Sprint("owner-", owners.Add(1))
	}
	m, err := postgres.OpenMany(tb.Context(), list, o)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	m.SetWait(time.Minute)
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return m
}

// two is a list of two schemas, which are like two databases.
func two(t *testing.T, database string) string {
	t.Helper()
	if list := spare.pair(t, database); list != "" {
		return list
	}
	return empty(t, database) + "," + empty(t, database)
}

// A store in two databases passes the same tests as one in one. TestStore has those of a
// single process with the statements for one change; here they are with those that make
// changes of several sessions.
func TestMany(t *testing.T) {
	t.Parallel()
	database := spare.database(t)
	storetest.Run(t, func(t *testing.T, lease time.Duration) session.Store {
		t.Helper()
		m := newMany(t, two(t, database), session.Options{Lease: lease})
		m.AlwaysTogether()
		return storeOf(m)
	})
	shared := func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		list := two(t, database)
		return func(o session.Options) session.Store {
			t.Helper()
			return openMany(t, list, o)
		}
	}
	storetest.RunShared(t, shared)
	storetest.RunOutbox(t, shared)
	storetest.RunRecordings(t, shared)
	storetest.RunSchedules(t, shared)
	storetest.RunSearch(t, shared)
	storetest.RunFeedback(t, shared)
	storetest.RunAPIKeys(t, func(t *testing.T) session.APIKeys {
		t.Helper()
		return openMany(t, two(t, database), session.Options{}).Keys
	})
}
