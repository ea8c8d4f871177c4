package session_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// spy is a store that tells what it was asked for, and can be made to wait.
type spy struct {
	session.Store
	reads  []session.Read
	loaded int                   // entries that were read
	after  func(key session.Key) // is called when an Append has been done
	before func()                // is called before a Get or a Begin is done

	timeline int64
}

func (s *spy) Timeline() int64 { return s.timeline }

func (s *spy) Begin(ctx context.Context, run session.NewRun) (*session.Begun, error) {
	if s.before != nil {
		s.before()
	}
	return s.Store.Begin(ctx, run)
}

func (s *spy) Get(ctx context.Context, key session.Key, read session.Read) (*session.Session, error) {
	if s.before != nil {
		s.before()
	}
	got, err := s.Store.Get(ctx, key, read)
	s.reads = append(s.reads, read)
	if err == nil {
		s.loaded += len(got.Entries)
	}
	return got, err
}

func (s *spy) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	err := s.Store.Append(ctx, key, epoch, notes, entries...)
	if s.after != nil {
		s.after(key)
	}
	return err
}

// cached is a cache in front of a memory store, with the store itself as others
// use it.
type cached struct {
	*testing.T
	spy    *spy
	cache  session.Store
	behind session.Store
}

func newCached(t *testing.T, room int64) *cached {
	t.Helper()
	memory := memstore.New(-1)
	spy := &spy{Store: memory}
	return &cached{T: t, spy: spy, cache: session.Cached(session.NewStore(spy), room), behind: memory}
}

func named(id string) session.Key { return session.Key{App: "app", User: "user", ID: id} }

func entries(t *testing.T, ids ...string) []*session.Entry {
	t.Helper()
	var entries []*session.Entry
	for _, id := range ids {
		e, err := session.NewEntry(&event.Event{ID: id, Author: "agent"})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

func (c *cached) create(store session.Store, id string, log ...string) {
	c.Helper()
	if _, err := store.Create(c.Context(), session.NewSession{Key: named(id), Log: entries(c.T, log...)}); err != nil {
		c.Fatal(err)
	}
}

func (c *cached) patch(store session.Store, id, word string) {
	c.Helper()
	if err := store.Patch(c.Context(), named(id), entries(c.T, word)[0]); err != nil {
		c.Fatal(err)
	}
}

func (c *cached) begin(store session.Store, id string) int64 {
	c.Helper()
	begun, err := store.Begin(c.Context(), session.NewRun{ID: "run-" + id, Key: named(id), Busy: session.Reject})
	if err != nil {
		c.Fatal(err)
	}
	return begun.Run.Epoch
}

func (c *cached) append(id string, epoch int64, words ...string) {
	c.Helper()
	if err := c.cache.Append(c.Context(), named(id), epoch, nil, entries(c.T, words...)...); err != nil {
		c.Fatal(err)
	}
}

// has wants the log to be these words, and the store to be asked for as many
// entries as that.
func (c *cached) has(id string, loaded int, want ...string) {
	c.Helper()
	before := c.spy.loaded
	s, err := c.cache.Get(c.Context(), named(id), session.Read{})
	if err != nil {
		c.Fatal(err)
	}
	var got []string
	for i, e := range s.Entries {
		ev, err := e.Decode()
		if err != nil || e.Seq != int64(i)+1 {
			c.Errorf("entry %d has the sequence %d: %v", i, e.Seq, err)
		}
		got = append(got, ev.ID)
	}
	if !slices.Equal(got, want) || s.Seq != int64(len(want)) {
		c.Errorf("the log of %s is %v to %d, want %v", id, got, s.Seq, want)
	}
	if n := c.spy.loaded - before; n != loaded {
		c.Errorf("%d entries of %s were read from the store, want %d", n, id, loaded)
	}
}

// What is known is not read again, and what is not known is.
func TestCacheReadsTheRest(t *testing.T) {
	c := newCached(t, 1<<20)
	c.create(c.cache, "s", "a", "b")
	c.has("s", 2, "a", "b")
	c.has("s", 0, "a", "b")
	epoch := c.begin(c.cache, "s")
	c.append("s", epoch, "c", "d")
	c.has("s", 0, "a", "b", "c", "d") // it has written that itself
	c.patch(c.behind, "s", "e")
	c.has("s", 1, "a", "b", "c", "d", "e")

	// Others write between what it knows and what it writes.
	c.patch(c.behind, "s", "f")
	c.append("s", epoch, "g")
	c.has("s", 2, "a", "b", "c", "d", "e", "f", "g")
	c.has("s", 0, "a", "b", "c", "d", "e", "f", "g")
	if _, err := c.cache.End(t.Context(), named("s"), epoch, session.End{Status: session.Completed, Entries: entries(t, "h")}); err != nil {
		t.Fatal(err)
	}
	c.has("s", 0, "a", "b", "c", "d", "e", "f", "g", "h")

	// A part of what is known, and no events at all.
	for after, want := range map[int64]int{-1: 8, 0: 8, 5: 3, 8: 0, 9: 0} {
		s, err := c.cache.Get(t.Context(), named("s"), session.Read{After: after})
		if err != nil || len(s.Entries) != want || s.Seq != 8 {
			t.Errorf("after %d there are %d entries of %d, want %d: %v", after, len(s.Entries), s.Seq, want, err)
		}
	}
	if s, err := c.cache.Get(t.Context(), named("s"), session.Read{NoEvents: true}); err != nil || len(s.Entries) != 0 || s.Seq != 8 {
		t.Errorf("without events: %+v, %v", s, err)
	}
}

// A session that another process has deleted and created again is a new one, even
// if its log is as long as the cached one, or longer.
func TestCacheDeletedBehind(t *testing.T) {
	for _, log := range [][]string{nil, {"x"}, {"x", "y"}, {"x", "y", "z"}} {
		c := newCached(t, 1<<20)
		c.create(c.cache, "s", "a", "b")
		c.has("s", 2, "a", "b")
		if err := c.behind.Delete(t.Context(), named("s")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.cache.Get(t.Context(), named("s"), session.Read{}); err == nil {
			t.Error("a session is there that another process has deleted")
		}
		c.create(c.behind, "s", log...)
		if len(log)%2 == 0 {
			c.has("s", len(log), log...)
		}
		epoch := c.begin(c.cache, "s")
		c.append("s", epoch, "last")
		c.patch(c.behind, "s", "patch")
		c.has("s", 1, append(slices.Clone(log), "last", "patch")...)
	}
}

// The log of the old session ends just where the new one continues. Its entries
// are not the next ones of what is known.
func TestCacheAppendsToAnother(t *testing.T) {
	c := newCached(t, 1<<20)
	c.create(c.cache, "s", "a", "b")
	c.has("s", 2, "a", "b")
	_ = c.behind.Delete(t.Context(), named("s"))
	c.create(c.behind, "s", "x", "y")
	epoch := c.begin(c.behind, "s") // which the cache does not see
	c.append("s", epoch, "z")
	c.has("s", 3, "x", "y", "z")
}

// And the reverse: the append was to the old session, and by the time that it is
// back the new one is known, with a log that ends just before.
func TestCacheSlowAppend(t *testing.T) {
	c := newCached(t, 1<<20)
	c.create(c.cache, "s", "a", "b")
	epoch := c.begin(c.cache, "s")
	c.spy.after = func(key session.Key) {
		c.spy.after = nil
		_ = c.behind.Delete(t.Context(), key)
		c.create(c.behind, "s", "x", "y")
		c.has("s", 2, "x", "y")
	}
	c.append("s", epoch, "old") // has the sequence 3, which the new one does not have yet
	c.has("s", 0, "x", "y")
	c.patch(c.behind, "s", "z")
	c.has("s", 1, "x", "y", "z")
}

// A database that was promoted, or restored, may lack the end of a log, and may have other
// entries by now in its place.
func TestCacheTimeline(t *testing.T) {
	for name, test := range map[string]struct {
		told bool // whether the store notices
		log  []string
	}{
		"shorter":          {true, []string{"a", "b"}},
		"other entries":    {true, []string{"a", "b", "x", "y"}},
		"shorter, unnoted": {false, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			restore := func(c *cached) {
				c.spy.Store = memstore.New(-1)
				c.behind = c.spy.Store
				c.create(c.behind, "s", test.log...)
				if test.told {
					c.spy.timeline++
				}
			}
			fresh := func(t *testing.T) *cached {
				t.Helper()
				c := newCached(t, 1<<20)
				c.create(c.cache, "s", "a", "b", "c")
				c.has("s", 3, "a", "b", "c")
				return c
			}
			t.Run("Get", func(t *testing.T) {
				c := fresh(t)
				restore(c)
				c.has("s", len(test.log), test.log...)
				c.has("s", 0, test.log...)
			})
			t.Run("during Get", func(t *testing.T) {
				c := fresh(t)
				c.spy.before = func() {
					c.spy.before = nil
					restore(c)
				}
				if got, err := c.cache.Get(t.Context(), named("s"), session.Read{}); err != nil || len(got.Entries) != len(test.log) {
					t.Errorf("the session is %+v, error %v", got, err)
				}
				c.has("s", 0, test.log...)
			})
			t.Run("during Begin", func(t *testing.T) {
				c := fresh(t)
				c.spy.before = func() {
					c.spy.before = nil
					restore(c)
				}
				begun, err := c.cache.Begin(t.Context(), session.NewRun{ID: "r", Key: named("s"), Message: entries(t, "m")[0]})
				if err != nil || len(begun.Session.Entries) != len(test.log) || begun.Session.Seq != int64(len(test.log)) {
					t.Fatalf("the run began with %+v, error %v", begun, err)
				}
				c.append("s", begun.Run.Epoch, "n")
				c.has("s", 0, append(slices.Clone(test.log), "m", "n")...)
			})
		})
	}
	t.Run("during Append", func(t *testing.T) {
		c := newCached(t, 1<<20)
		c.create(c.cache, "s", "a", "b")
		epoch := c.begin(c.cache, "s")
		c.spy.after = func(session.Key) { // the entry was confirmed, and then lost
			c.spy.after = nil
			c.spy.Store = memstore.New(-1)
			c.behind = c.spy.Store
			c.create(c.behind, "s", "a", "b")
			c.spy.timeline++
			c.has("s", 2, "a", "b")
		}
		c.append("s", epoch, "lost")
		c.has("s", 0, "a", "b")
	})
}

// What does not fit goes, the least recently used first, and comes back when it
// is asked for. Sessions without a single entry take space, too.
func TestCacheEvicts(t *testing.T) {
	c := newCached(t, 3000) // about three logs of one entry
	for i := range 6 {
		c.create(c.cache, fmt.Sprint("s", i), "a")
	}
	c.has("s0", 1, "a")
	c.has("s1", 1, "a")
	c.has("s0", 0, "a")
	c.has("s2", 1, "a")
	c.has("s0", 0, "a")
	c.has("s3", 1, "a")
	c.has("s0", 0, "a") // used all the time
	c.has("s1", 1, "a") // not for a while
	c.has("s4", 1, "a")
	c.has("s5", 1, "a")
	c.has("s5", 0, "a")

	// One that grows out of all bounds takes itself away, in the end.
	epoch := c.begin(c.cache, "s5")
	want := []string{"a"}
	for i := range 20 {
		word := fmt.Sprint("e", i)
		c.append("s5", epoch, word)
		want = append(want, word)
	}
	c.has("s5", 21, want...)
	c.has("s5", 21, want...)
	c.has("s0", 1, "a")
	c.has("s0", 0, "a") // there is space again

	// Nothing fits into nothing, and nothing is kept.
	none := newCached(t, 0)
	none.create(none.cache, "s")
	none.has("s", 0)
	none.patch(none.behind, "s", "a")
	none.has("s", 1, "a")
	none.has("s", 1, "a")
	if read := none.spy.reads[1]; read.Of != 0 {
		t.Errorf("an empty log was kept where there is no space: it was asked for %+v", read)
	}
}

// Who was given a log can do with it what they like, and what comes later does
// not appear in it.
func TestCacheSharesNothingThatChanges(t *testing.T) {
	c := newCached(t, 1<<20)
	c.create(c.cache, "s", "a")
	epoch := c.begin(c.cache, "s")
	one, err := c.cache.Get(t.Context(), named("s"), session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	c.append("s", epoch, "b")
	two, err := c.cache.Get(t.Context(), named("s"), session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	_ = append(one.Entries, entries(t, "intruder")...)
	_ = append(two.Entries, entries(t, "intruder")...)
	c.append("s", epoch, "c")
	if len(one.Entries) != 1 || len(two.Entries) != 2 {
		t.Errorf("what was read has %d and %d entries", len(one.Entries), len(two.Entries))
	}
	c.has("s", 0, "a", "b", "c")
}

// The index of calls is made once for a log, and continues with it.
func TestCallIndexIsShared(t *testing.T) {
	t.Parallel()
	c := newCached(t, 1<<20)
	for name, store := range map[string]session.Store{"memory": c.behind, "cache": c.cache} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := func(id string) *session.Entry {
				e, err := session.NewEntry(&event.Event{ID: id, Author: "agent", Content: &event.Content{Parts: []*event.Part{{FunctionCall: &event.FunctionCall{ID: id, Name: "f"}}}}})
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			if _, err := store.Create(t.Context(), session.NewSession{Key: named(name), Log: []*session.Entry{calls("one")}}); err != nil {
				t.Fatal(err)
			}
			get := func() *session.Session {
				s, err := store.Get(t.Context(), named(name), session.Read{})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			before := get()
			if !before.Calls.Has(before.Entries, "one") || before.Calls.Has(before.Entries, "two") {
				t.Error("the index is not that of the log")
			}
			if err := store.Patch(t.Context(), named(name), calls("two")); err != nil {
				t.Fatal(err)
			}
			after := get()
			if !after.Calls.Has(after.Entries, "one") || !after.Calls.Has(after.Entries, "two") {
				t.Error("the index does not follow the log")
			}
			if before.Calls != after.Calls {
				t.Error("the index is made again for a snapshot")
			}
			if err := store.Delete(t.Context(), named(name)); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Create(t.Context(), session.NewSession{Key: named(name), Log: []*session.Entry{calls("three")}}); err != nil {
				t.Fatal(err)
			}
			if next := get(); !next.Calls.Has(next.Entries, "three") || next.Calls.Has(next.Entries, "one") {
				t.Error("the index of a session that was deleted is that of the next one")
			}
		})
	}
}

// A cache that has shrunk reads again what it has lost, and works as before.
func TestCacheShrinks(t *testing.T) {
	c := newCached(t, 1<<20)
	const sessions = 10
	for i := range sessions {
		c.create(c.cache, fmt.Sprint(i), "a", "b")
		c.has(fmt.Sprint(i), 2, "a", "b")
	}
	before, after := session.Shrink(c.cache)
	if before == 0 || after > before/2 || after == 0 {
		t.Errorf("it has shrunk from %d to %d bytes, want about half", before, after)
	}
	c.has(fmt.Sprint(sessions-1), 0, "a", "b") // the last one that was used
	c.has("0", 2, "a", "b")
	c.has("0", 0, "a", "b")
}
