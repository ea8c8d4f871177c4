//go:build unix

package chaos

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/pgtest"
)

// TestFailover has two Postgres servers, one of which follows the other. The primary is
// lost at times, the standby is promoted, and the old primary follows the new one.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true, Settings: map[string]string{"wal_retrieve_retry_interval": "100ms"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := primary.Close(); err != nil {
			t.Error(err)
		}
	})
	second, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := primary.Synchronize(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, pgtest.Hosts(primary.URL(), primary.Addr(), second.Addr()), primary, 3, 8)
	standby := second
	w.fault = func(random *rand.Rand) {
		old := w.server
		how := random.IntN(3)
		w.did("Postgres: %s, and the standby is promoted", [...]string{"stopped", "stopped at once", "kill -9"}[how])
		switch how {
		case 0:
			old.Stop(pgtest.Fast)
		case 1:
			old.Stop(pgtest.Immediate)
		default:
			old.Kill()
		}
		pace(random, time.Millisecond, 500*time.Millisecond)
		if err := standby.Promote(w.stop); err != nil {
			w.Error(err)
			return
		}
		w.did("Postgres: promoted")
		w.server, standby = standby, old
		pace(random, time.Millisecond, 500*time.Millisecond)
		if err := standby.Follow(w.stop, w.server); err != nil {
			w.Error(err)
			return
		}
		if err := w.server.Synchronize(w.stop); err != nil {
			w.Error(err)
			return
		}
		w.did("Postgres: the old primary follows")
	}
	w.play()
}

// TestPooler has a PgBouncer between the servers and Postgres, for all but their
// connections that listen. It is killed at times.
func TestPooler(t *testing.T) {
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
	pooler := server.Pooler(t)
	w := newWorld(t, pgtest.Hosts(server.URL(), pooler.Addr())+"&listen_hosts="+server.Addr(), server, 3, 8)
	w.fault = func(random *rand.Rand) {
		w.did("PgBouncer: kill -9")
		pooler.Stop()
		pace(random, time.Millisecond, 500*time.Millisecond)
		if err := pooler.Start(w.stop); err != nil {
			w.Error(err)
		}
		w.did("PgBouncer: started")
	}
	w.play()
}
