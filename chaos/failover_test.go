//go:build unix

package chaos

import (
	"context"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
		old, slow := w.server, time.AfterFunc(5*time.Second, func() { w.slow.Store(true) })
		defer slow.Stop()
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
		slow.Stop()
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

// A database that has become read-only is told to clients and to load balancers, and
// servers go on by themselves when it can be written to again.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	w := pair(t)
	a, b := w.at(w.replicas[0]), w.at(w.replicas[1])
	conv := a.create("solo")
	a.finish(a.begin(conv, "once"))
	readOnly := func(is string) {
		conn, err := pgx.Connect(t.Context(), w.db)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
		for _, sql := range []string{
			"SET default_transaction_read_only = off",
			"ALTER DATABASE " + pgx.Identifier{conn.Config().Database}.Sanitize() + " SET default_transaction_read_only = " + is,
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
		} {
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	// status repeats a request until it is answered like that.
	status := func(c *client, method, path string, body []byte, want int) http.Header {
		t.Helper()
		for end := time.Now().Add(quiet); ; c.nap() {
			got, header, text, err := c.do(method, path, body, nil)
			if err == nil && got == want {
				return header
			}
			if time.Now().After(end) {
				t.Fatalf("%s %s: status %d, error %v: %s", method, path, got, err, text)
			}
		}
	}
	readOnly("on")
	for _, c := range []*client{a, b} {
		header := status(c, http.MethodPatch, sessionPath(conv.key), []byte(`{"stateDelta":{"never":"stored"}}`), http.StatusServiceUnavailable)
		if header.Get("Retry-After") == "" {
			t.Error("the answer has no Retry-After")
		}
		status(c, http.MethodGet, "/readyz", nil, http.StatusServiceUnavailable)
		status(c, http.MethodGet, sessionPath(conv.key), nil, http.StatusOK)
	}
	readOnly("off")
	for _, c := range []*client{a, b} {
		status(c, http.MethodGet, "/readyz", nil, http.StatusOK)
		c.patch(conv)
	}
	b.finish(b.begin(conv, "once"))
	close(w.calm)
	store := w.open()
	w.settle(store)
	w.check(store)
}
