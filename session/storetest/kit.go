package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// kit is one test and the store that it has to itself. Its methods fail the
// test, so they belong to the test's own goroutine; others call the store.
type kit struct {
	*testing.T
	store taker
}

// key is a session of the user and the application that most tests need.
func key(id string) session.Key { return session.Key{App: "app", User: "user", ID: id} }

// state makes a state of keys and JSON values that follow one another.
func state(pairs ...string) session.State {
	s := session.State{}
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i]] = json.RawMessage(pairs[i+1]) //nolint:gosec // they come in pairs
	}
	return s
}

// entry encodes ev. The events of this suite can all be encoded.
func entry(ev *event.Event) *session.Entry {
	e, err := session.NewEntry(ev)
	if err != nil {
		panic(err)
	}
	return e
}

// say is an entry that changes nothing.
func say(id string) *session.Entry {
	return entry(&event.Event{ID: id, InvocationID: "i", Author: "agent", Timestamp: 1.5, Content: event.Text(event.RoleModel, "This is "+id+".")})
}

// set is an entry that changes the state.
func set(id string, pairs ...string) *session.Entry {
	return entry(&event.Event{ID: id, InvocationID: "i", Author: "agent", Timestamp: 1.5, Actions: event.Actions{StateDelta: state(pairs...)}})
}

// number makes count entries with the ids prefix0, prefix1, ….
func number(prefix string, count int) []*session.Entry {
	entries := make([]*session.Entry, count)
	for i := range entries {
		entries[i] = say(fmt.Sprint(prefix, i))
	}
	return entries
}

func (k *kit) create(key session.Key, state session.State, log ...*session.Entry) *session.Session {
	k.Helper()
	s, err := k.store.Create(k.Context(), key, state, log)
	if err != nil {
		k.Fatalf("Create(%v): %v", key, err)
	}
	return s
}

func (k *kit) get(key session.Key) *session.Session {
	k.Helper()
	return k.read(key, session.Read{})
}

func (k *kit) read(key session.Key, read session.Read) *session.Session {
	k.Helper()
	s, err := k.store.Get(k.Context(), key, read)
	if err != nil {
		k.Fatalf("Get(%v, %+v): %v", key, read, err)
	}
	return s
}

func (k *kit) acquire(key session.Key) int64 {
	k.Helper()
	_, epoch, err := k.store.Acquire(k.Context(), key)
	if err != nil {
		k.Fatalf("Acquire(%v): %v", key, err)
	}
	return epoch
}

func (k *kit) append(key session.Key, epoch int64, entries ...*session.Entry) {
	k.Helper()
	if err := k.store.Append(k.Context(), key, epoch, entries...); err != nil {
		k.Fatalf("Append(%v, %d, %d entries): %v", key, epoch, len(entries), err)
	}
}

// fenced wants an append under epoch to be refused.
func (k *kit) fenced(key session.Key, epoch int64, when string) {
	k.Helper()
	e := set("intruder", "intruder", "1", "user:intruder", "1", "app:intruder", "1")
	if err := k.store.Append(k.Context(), key, epoch, e); !errors.Is(err, session.ErrFenced) {
		k.Errorf("Append under epoch %d %s: error %v, want ErrFenced", epoch, when, err)
	}
}

func (k *kit) release(key session.Key, epoch int64) {
	k.Helper()
	if err := k.store.Release(k.Context(), key, epoch); err != nil {
		k.Fatalf("Release(%v, %d): %v", key, epoch, err)
	}
}

func (k *kit) patch(key session.Key, e *session.Entry) {
	k.Helper()
	if err := k.store.Patch(k.Context(), key, e); err != nil {
		k.Fatalf("Patch(%v): %v", key, err)
	}
}

func (k *kit) delete(key session.Key) {
	k.Helper()
	if err := k.store.Delete(k.Context(), key); err != nil {
		k.Fatalf("Delete(%v): %v", key, err)
	}
}

func (k *kit) list(app, user string, page session.Page) (sessions []*session.Session, next string) {
	k.Helper()
	sessions, next, err := k.store.List(k.Context(), app, user, page)
	if err != nil {
		k.Fatalf("List(%q, %q, %+v): %v", app, user, page, err)
	}
	return sessions, next
}

// missing wants the session not to be there.
func (k *kit) missing(key session.Key) {
	k.Helper()
	if _, err := k.store.Get(k.Context(), key, session.Read{}); !errors.Is(err, session.ErrNotFound) {
		k.Errorf("Get(%v): error %v, want ErrNotFound", key, err)
	}
}

// together calls do for 0 to n-1, all at the same time as nearly as can be, and
// comes back when they have. Errors fail the test.
func (k *kit) together(n int, do func(i int) error) {
	k.Helper()
	start := make(chan struct{})
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		k.Fatal(err)
	}
}

// hasLog wants s to hold the whole log, which is want.
func (k *kit) hasLog(s *session.Session, want ...*session.Entry) {
	k.Helper()
	if s.Seq != int64(len(want)) {
		k.Errorf("session %v: Seq is %d, want %d", s.Key, s.Seq, len(want))
	}
	k.hasEntries(s, 0, want)
}

// hasEntries wants s to hold the entries want, with sequences from after+1 on.
func (k *kit) hasEntries(s *session.Session, after int64, want []*session.Entry) {
	k.Helper()
	if len(s.Entries) != len(want) {
		k.Errorf("session %v: %d entries, want %d", s.Key, len(s.Entries), len(want))
		return
	}
	for i, want := range want {
		e := s.Entries[i]
		if e.Seq != after+int64(i)+1 {
			k.Errorf("session %v: entry %d has the sequence %d, want %d", s.Key, i, e.Seq, after+int64(i)+1)
		}
		if !bytes.Equal(e.JSON, want.JSON) {
			k.Errorf("session %v: bytes of entry %d:\n got %s\nwant %s", s.Key, e.Seq, clip(e.JSON), clip(want.JSON))
		}
		ev, err := e.Decode()
		if err != nil {
			k.Errorf("session %v: entry %d cannot be decoded: %v", s.Key, e.Seq, err)
		} else if ev.ID != want.Event.ID {
			k.Errorf("session %v: entry %d is the event %q, want %q", s.Key, e.Seq, ev.ID, want.Event.ID)
		}
	}
}

// dense wants s to hold a whole log without gaps, and returns the ids of its
// events.
func (k *kit) dense(s *session.Session) []string {
	k.Helper()
	if s.Seq != int64(len(s.Entries)) {
		k.Errorf("session %v: Seq is %d, but there are %d entries", s.Key, s.Seq, len(s.Entries))
	}
	ids := make([]string, len(s.Entries))
	for i, e := range s.Entries {
		if e.Seq != int64(i)+1 {
			k.Fatalf("session %v: entry %d has the sequence %d", s.Key, i+1, e.Seq)
		}
		ev, err := e.Decode()
		if err != nil {
			k.Fatalf("session %v: entry %d: %v", s.Key, e.Seq, err)
		}
		ids[i] = ev.ID
	}
	return ids
}

// hasState wants exactly the keys and values in pairs.
func (k *kit) hasState(s *session.Session, pairs ...string) {
	k.Helper()
	if want, got := texts(state(pairs...)), texts(s.State); !maps.Equal(want, got) {
		k.Errorf("state of %v (-want +got):\n%s", s.Key, cmp.Diff(want, got))
	}
}

// view is a session as values that can be kept and compared.
type view struct {
	Key     session.Key
	State   map[string]string
	Seq     int64
	Entries []string
	Created time.Time
	Updated time.Time
}

func look(s *session.Session) view {
	v := view{Key: s.Key, State: texts(s.State), Seq: s.Seq, Created: s.Created, Updated: s.Updated}
	for _, e := range s.Entries {
		v.Entries = append(v.Entries, fmt.Sprintf("%d %s", e.Seq, e.JSON))
	}
	return v
}

// equal reports whether two views agree, times included.
func (v view) equal(w view) bool {
	return v.Key == w.Key && v.Seq == w.Seq && v.Created.Equal(w.Created) && v.Updated.Equal(w.Updated) &&
		maps.Equal(v.State, w.State) && slices.Equal(v.Entries, w.Entries)
}

// same wants two views to agree.
func (k *kit) same(what string, want, got view) {
	k.Helper()
	if !want.equal(got) {
		k.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got))
	}
}

func texts(s session.State) map[string]string {
	m := make(map[string]string, len(s))
	for name, v := range s {
		m[name] = string(v)
	}
	return m
}

// clip keeps failures readable when values are large.
func clip(b []byte) string {
	if len(b) > 300 {
		return fmt.Sprintf("%s… (%d bytes)", b[:300], len(b))
	}
	return string(b)
}

// ownerOf is the user of a session.
func ownerOf(key session.Key) session.Key { return session.Key{App: key.App, User: key.User} }
