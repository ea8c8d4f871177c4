package session_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/session/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) session.Store { return session.NewMemory() })
}

// BenchmarkMemoryIdle measures what a session costs that nobody talks to: the
// memory of a server is mostly made of these.
func BenchmarkMemoryIdle(b *testing.B) {
	const sessions = 10_000
	for _, users := range []int{1, sessions} {
		b.Run(fmt.Sprint("users=", users), func(b *testing.B) {
			var total uint64
			for b.Loop() {
				before := heap()
				store := session.NewMemory()
				for i := range sessions {
					key := session.Key{App: "app", User: fmt.Sprintf("user-%06d", i%users), ID: fmt.Sprintf("session-%018d", i)}
					state := session.State{"topic": json.RawMessage(`"weather"`), "count": json.RawMessage(`1`)}
					if _, err := store.Create(b.Context(), key, state, nil); err != nil {
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
