package postgres_test

import (
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/storetest"
)

// The tests use the version of Postgres that is installed, which may be the oldest one
// that is supported. This is the newest one. All tests run on all versions with make
// test/postgres.
func TestNewest(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts a Postgres server")
	}
	server := private(t, pgtest.Options{NoSync: true, Version: pgtest.Newest(t)})
	s := open(t, server.URL(), session.Options{Lease: time.Minute})
	underway(t, s, func() {
		if err := server.Restart(t.Context()); err != nil {
			t.Error(err)
		}
	})
	database := server.Database(t)
	storetest.RunOutbox(t, func(t *testing.T) func(session.Options) session.Store {
		t.Helper()
		url := empty(t, database)
		return func(o session.Options) session.Store {
			t.Helper()
			return session.NewStore(open(t, url, o))
		}
	})
}
