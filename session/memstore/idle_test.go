package memstore_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/gctune"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/storetest"
)

// A store of a test that has ended, whose timer belongs to the bubble of that test, does
// not disturb others when memory is short. It did if it had not been collected yet.
func TestShortageBesideBubbles(t *testing.T) {
	key := session.Key{App: "a", User: "u", ID: "s"}
	var store *memstore.Backend
	use := func(t *testing.T) {
		t.Helper()
		if _, err := store.Get(t.Context(), key, session.Read{}); err != nil {
			t.Error(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		store = memstore.NewBackend(time.Minute)
		if _, err := store.Create(t.Context(), session.NewSession{Key: key, State: session.State{"k": []byte("1")}}); err != nil {
			t.Fatal(err)
		}
		use(t)
	})
	gctune.Shrink()
	use(t)
	gctune.Shrink()
}

// Sessions are the same whenever they are packed.
func TestMemoryPacksSessions(t *testing.T) {
	storetest.Run(t, func(t *testing.T, lease time.Duration) session.Store {
		t.Helper()
		m := memstore.NewBackend(lease)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					m.Pack()
					runtime.Gosched()
				}
			}
		}()
		t.Cleanup(func() {
			close(stop)
			<-stopped
		})
		return session.NewStore(m)
	})
}

// live returns the bytes of live objects.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The memory of idle sessions is bounded: without a turn, and what a turn adds, beside the
// bytes of its events.
func TestIdleSessionsAreSmall(t *testing.T) {
	const sessions, perUser = 5000, 10
	m := memstore.NewBackend(0)
	key := func(i int) session.Key {
		path := fmt.Sprintf("/apps/weather/users/user-%d/sessions/0190a7c4-5a5b-7c3e-8f00-%012d", i/perUser, i) // as in a request
		return session.Key{App: path[6:13], User: path[20 : len(path)-46], ID: path[len(path)-36:]}
	}
	before := live()
	for i := range sessions {
		state := session.State{"key1": json.RawMessage(`"value1"`), "key2": json.RawMessage(`42`)}
		if _, err := m.Create(t.Context(), session.NewSession{Key: key(i), State: state}); err != nil {
			t.Fatal(err)
		}
	}
	created := live()
	if each := (created - before) / sessions; each > 600 {
		t.Errorf("an idle session takes %d bytes, want at most 600", each)
	}
	bytes := int64(0)
	for i := range sessions {
		bytes += turn(t, m, key(i))
	}
	m.PackIdle() // they were used since the last time
	if used := (live() - created - bytes) / sessions; used < 4<<10 {
		t.Errorf("a turn takes %d bytes soon after its end: the test measures something else", used)
	}
	m.PackIdle()
	each := (live() - created - bytes) / sessions
	t.Logf("a session takes %d bytes, and a turn %d beside the %d of its events", (created-before)/sessions, each, bytes/sessions)
	if each > 3<<10 {
		t.Errorf("a turn takes %d bytes beside those of its events, want at most 3 KB", each)
	}
	runtime.KeepAlive(m)
}

// turn has a message, a call, its response and an answer, and returns the bytes of their entries.
func turn(t *testing.T, m *memstore.Backend, key session.Key) (bytes int64) {
	t.Helper()
	id := "e-" + key.ID
	entry := func(author string, parts ...*event.Part) *session.Entry {
		e, err := session.NewEntry(&event.Event{ID: event.NewID(), InvocationID: id, Author: author, Timestamp: 1, Content: &event.Content{Parts: parts}})
		if err != nil {
			t.Fatal(err)
		}
		bytes += int64(len(e.JSON))
		return e
	}
	begun, err := m.Begin(t.Context(), session.NewRun{ID: id, Key: key, Message: entry(event.User, &event.Part{Text: "What is the weather in Paris?"})})
	if err != nil {
		t.Fatal(err)
	}
	call := &event.FunctionCall{ID: event.NewID(), Name: "get_weather", Args: json.RawMessage(`{"city":"Paris"}`)}
	begun.Session.Calls.Has(begun.Session.Entries, call.ID)
	begun.Session.Calls.Derived(func() any { return make([]byte, 4096) })
	called := entry("agent", &event.Part{FunctionCall: call})
	if err := m.Append(t.Context(), key, begun.Run.Epoch, nil, called); err != nil {
		t.Fatal(err)
	}
	answer := entry("agent", &event.Part{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: json.RawMessage(`{"report":"sunny"}`)}})
	end := session.End{Status: session.Completed, Entries: []*session.Entry{answer, entry("agent", &event.Part{Text: "It is sunny in Paris."})}}
	if _, err := m.End(t.Context(), key, begun.Run.Epoch, end); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// A session that is used, or has an active run, is not packed.
func TestUsedSessionsAreNotPacked(t *testing.T) {
	m := memstore.NewBackend(0)
	key := session.Key{App: "app", User: "user", ID: "s"}
	if _, err := m.Create(t.Context(), session.NewSession{Key: key}); err != nil {
		t.Fatal(err)
	}
	decoded := func() *event.Event {
		s, err := m.Get(t.Context(), key, session.Read{})
		if err != nil {
			t.Fatal(err)
		}
		ev, err := s.Entries[0].Decode()
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	turn(t, m, key)
	first := decoded()
	m.PackIdle()
	if decoded() != first {
		t.Error("it was packed although it was just used")
	}
	begun, err := m.Begin(t.Context(), session.NewRun{ID: "run", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	m.PackIdle()
	m.PackIdle()
	m.Pack()
	if decoded() != first {
		t.Error("it was packed although a run is active")
	}
	if _, err := m.End(t.Context(), key, begun.Run.Epoch, session.End{Status: session.Completed}); err != nil {
		t.Fatal(err)
	}
	m.PackIdle()
	m.PackIdle()
	first = decoded()
	m.PackIdle()
	m.PackIdle()
	if decoded() == first {
		t.Error("its events were kept decoded")
	}
	// A long one is kept for longer, within bounds.
	for i := range 100 {
		patch, err := session.NewEntry(&event.Event{ID: fmt.Sprint(i), Author: event.User})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Patch(t.Context(), key, patch); err != nil {
			t.Fatal(err)
		}
	}
	first = decoded()
	m.PackIdle()
	m.PackIdle()
	if decoded() != first {
		t.Error("the events of a long session were released soon")
	}
	for range 50 {
		m.PackIdle()
	}
	if decoded() == first {
		t.Error("the events of a long session were kept")
	}
}

// A deleted session is not kept until the store looks for idle ones.
func TestDeletedSessionsAreReleased(t *testing.T) {
	const sessions = 500
	m := memstore.NewBackend(0)
	before := live()
	for i := range sessions {
		key := session.Key{App: "app", User: "user", ID: fmt.Sprint(i)}
		if _, err := m.Create(t.Context(), session.NewSession{Key: key}); err != nil {
			t.Fatal(err)
		}
		turn(t, m, key)
		if err := m.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if each := (live() - before) / sessions; each > 1<<10 {
		t.Errorf("a deleted session takes %d bytes", each)
	}
	runtime.KeepAlive(m)
}
