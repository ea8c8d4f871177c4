package sqlite

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/storetest"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	leak.Main(m)
}

// file is where a test has its database.
func file(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(tb.TempDir(), "sessions.db")
}

// opened opens a store for as long as the test lasts.
func opened(tb testing.TB, path string, o session.Options) *backend {
	tb.Helper()
	store, err := open(tb.Context(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return store
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, lease time.Duration) session.Store {
		t.Helper()
		return session.NewStore(opened(t, file(t), session.Options{Owner: "test", Lease: lease}))
	})
}

// opens returns what opens stores in one new file.
func opens(t *testing.T) func(session.Options) session.Store {
	t.Helper()
	path := file(t)
	return func(o session.Options) session.Store { return session.NewStore(opened(t, path, o)) }
}

func TestShared(t *testing.T) {
	t.Parallel()
	storetest.RunShared(t, opens)
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	storetest.RunAPIKeys(t, func(t *testing.T) session.APIKeys {
		t.Helper()
		return opened(t, file(t), session.Options{Owner: "test"})
	})
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	storetest.RunOutbox(t, opens)
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	storetest.RunRecordings(t, opens)
}

func TestRecordingParts(t *testing.T) {
	t.Parallel()
	s := opened(t, file(t), session.Options{})
	storetest.RunRecordingParts(t, session.NewStore(s), func() (n int) {
		if err := s.read(t.Context(), func(c *conn) error { return c.one(`SELECT count(*) FROM recording_parts`, nil, &n) }); err != nil {
			t.Fatal(err)
		}
		return n
	})
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	storetest.RunSchedules(t, opens)
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	storetest.RunFeedback(t, opens)
}

func TestSearch(t *testing.T) {
	t.Parallel()
	storetest.RunSearch(t, opens)
}
