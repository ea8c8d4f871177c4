//go:build unix

package chaos

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
)

// TestTwoDatabases has users in two databases, each of which is stopped at times. At
// first all users are in one of them: they are moved while faults are injected, by
// processes that are interrupted again and again.
func TestTwoDatabases(t *testing.T) {
	t.Parallel()
	var servers [2]*pgtest.Server
	for i := range servers {
		server, err := pgtest.New(t.Context(), pgtest.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
		servers[i] = server
	}
	// A database with users keeps them until they are moved.
	alone, err := postgres.Open(t.Context(), servers[0].URL(), session.Options{Owner: "first"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alone.Create(t.Context(), session.NewSession{Key: session.Key{App: "first", User: "first", ID: "first"}}); err != nil {
		t.Fatal(err)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, servers[0].URL()+","+servers[1].URL(), servers[0], 3, 8)
	w.second = servers[1]
	var wg sync.WaitGroup
	wg.Go(w.moveUsers)
	w.play()
	wg.Wait()
	for i, server := range servers {
		conn, err := pgx.Connect(t.Context(), server.URL())
		if err != nil {
			t.Fatal(err)
		}
		var sessions, moving int
		err = conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM parley_sessions), (SELECT count(*) FROM parley_moving)`).Scan(&sessions, &moving)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("database %d has %d sessions", i, sessions)
		if sessions == 0 || moving != 0 {
			t.Errorf("database %d has %d sessions, and %d rows that have not arrived", i, sessions, moving)
		}
		_ = conn.Close(t.Context())
	}
}

// moveUsers moves users for as long as there are faults, and completes that then.
func (w *world) moveUsers() {
	random := w.random("mover")
	driver, err := session.DriverOf(w.db)
	if err != nil {
		w.Error(err)
		return
	}
	for calm := false; ; {
		select {
		case <-w.calm:
			calm = true
		default:
		}
		ctx, cancel := w.stop, context.CancelFunc(func() {})
		if !calm {
			ctx, cancel = context.WithTimeout(w.stop, 100*time.Millisecond+time.Duration(random.Int64N(int64(2*time.Second))))
		}
		moved, err := driver.Move(ctx, w.db, session.Options{Owner: "mover"}, nil)
		cancel()
		w.did("moved %d of %d slots, %d sessions: %v", moved.DoneSlots, moved.Slots, moved.DoneSessions, err)
		if calm {
			if err != nil && w.stop.Err() == nil {
				w.Errorf("moving users: %v", err)
			}
			return
		}
		if err == nil {
			pace(random, 10*time.Millisecond, 300*time.Millisecond)
		}
	}
}
