package memstore_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/storetest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestMemory(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, lease time.Duration) session.Store { return memstore.New(lease) })
}

func TestMemoryOutbox(t *testing.T) {
	storetest.RunOutbox(t, func(*testing.T) func(session.Options) session.Store {
		store := memstore.New(0)
		return func(session.Options) session.Store { return store }
	})
}

func TestMemoryRecordingParts(t *testing.T) {
	t.Parallel()
	memory := memstore.NewBackend(0)
	storetest.RunRecordingParts(t, session.NewStore(memory), memory.RecordingParts)
	if bytes := memory.RecordingBytes(); bytes != 0 {
		t.Errorf("%d bytes are counted, and nothing is kept", bytes)
	}
}

func TestMemoryRecordings(t *testing.T) {
	storetest.RunRecordings(t, func(*testing.T) func(session.Options) session.Store {
		store := memstore.New(0)
		return func(session.Options) session.Store { return store }
	})
}

func TestMemorySchedules(t *testing.T) {
	storetest.RunSchedules(t, func(*testing.T) func(session.Options) session.Store {
		store := memstore.New(0)
		return func(session.Options) session.Store { return store }
	})
}

func TestMemoryFeedback(t *testing.T) {
	storetest.RunFeedback(t, func(*testing.T) func(session.Options) session.Store {
		store := memstore.New(0)
		return func(session.Options) session.Store { return store }
	})
}

func TestMemorySearch(t *testing.T) {
	storetest.RunSearch(t, func(*testing.T) func(session.Options) session.Store {
		store := memstore.New(0)
		return func(session.Options) session.Store { return store }
	})
}

// One Sweep looks at a limited number of sessions, so that it does not block other
// calls for long. The next ones look at the rest.
func TestMemorySweepsInBatches(t *testing.T) { synctest.Test(t, sweepsInBatches) }

func sweepsInBatches(t *testing.T) {
	const sessions = 2500
	store := memstore.New(0)
	for i := range sessions {
		ttl := time.Nanosecond
		if i%5 == 0 {
			ttl = time.Hour
		}
		key := session.Key{App: "app", User: "user", ID: fmt.Sprint(i)}
		if _, err := store.Create(t.Context(), session.NewSession{Key: key, TTL: ttl}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Millisecond)
	for round, want := range []int{sessions * 4 / 5, 0} {
		all, calls := 0, 0
		for done := false; !done; calls++ {
			var deleted []session.Key
			var err error
			if deleted, done, err = store.Sweep(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			all += len(deleted)
		}
		if all != want || round == 0 && calls < 2 {
			t.Errorf("round %d: %d sessions were deleted in %d calls, want %d", round, all, calls, want)
		}
	}
	if left, _, err := store.List(t.Context(), "app", "user", session.Page{}); err != nil || len(left) != sessions/5 {
		t.Errorf("%d sessions are left, want %d: %v", len(left), sessions/5, err)
	}
}

// BenchmarkMemoryIdle measures what an idle session costs: most sessions in the
// memory of a server are idle.
func BenchmarkMemoryIdle(b *testing.B) {
	const sessions = 10_000
	for _, users := range []int{1, sessions} {
		b.Run(fmt.Sprint("users=", users), func(b *testing.B) {
			var total uint64
			for b.Loop() {
				before := heap()
				store := memstore.New(0)
				for i := range sessions {
					key := session.Key{App: "app", User: fmt.Sprintf("user-%06d", i%users), ID: fmt.Sprintf("session-%018d", i)}
					state := session.State{"topic": json.RawMessage(`"weather"`), "count": json.RawMessage(`1`)}
					if _, err := store.Create(b.Context(), session.NewSession{Key: key, State: state}); err != nil {
						b.Fatal(err)
					}
				}
				total += heap() - before
				runtime.KeepAlive(store)
			}
			b.ReportMetric(float64(total)/float64(b.N)/sessions, "bytes/session")
		})
	}
}

// heap is how much memory is in use.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// The cache in front of a store must not be seen, whether it has room for
// everything or for next to nothing.
func TestCached(t *testing.T) {
	for _, room := range []int64{1 << 30, 2000, 0} {
		t.Run(fmt.Sprint("room=", room), func(t *testing.T) {
			storetest.Run(t, func(_ *testing.T, lease time.Duration) session.Store {
				return session.Cached(memstore.New(lease), room)
			})
		})
	}
}
