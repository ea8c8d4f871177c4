package session

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/parley-run/parley/internal/gctune"
	"github.com/parley-run/parley/internal/lru"
)

// Cached keeps the logs of active sessions in memory, in front of a store that many
// processes may write to. It never treats its copy as complete: every read asks the
// store for later entries, and an append-only log cannot change in another way. The
// ordinal distinguishes a session that was deleted and created again, and the Timeline
// of the store a log that the database may have lost the end of.
func Cached(store Store, bytes int64) Store {
	c := &cache{Store: store, logs: lru.New[Key, *cachedLog](bytes)}
	c.timed, _ = store.Sessions.(Timeline)
	gctune.OnShortage(c, (*cache).shrink)
	store.Sessions, store.Runs, store.Leases, store.Upkeep = c, c, c, c
	return store
}

// Timeline is an optional interface of Store.Sessions, for a database that can lose
// changes that it has confirmed: a standby is promoted that did not have them yet, or a
// backup is restored.
type Timeline interface {
	// Timeline returns a number that increases after the database may have lost
	// changes, before the store returns anything that was read since.
	Timeline() int64
}

type cache struct {
	Store

	timed Timeline // nil if the store has none

	mu   sync.Mutex
	logs *lru.Cache[Key, *cachedLog]
}

type cachedLog struct {
	version
	entries []*Entry // the log from sequence 1, append-only
	calls   *CallIndex
}

// version distinguishes logs with the same key. A later one is greater.
type version struct{ timeline, ordinal int64 }

func (v version) compare(other version) int {
	return cmp.Or(cmp.Compare(v.timeline, other.timeline), cmp.Compare(v.ordinal, other.ordinal))
}

// timeline returns that of the store.
func (c *cache) timeline() int64 {
	if c.timed == nil {
		return 0
	}
	return c.timed.Timeline()
}

// logOverhead is the approximate size of a log without its entries.
const logOverhead = 256

// lookup returns the cached log, which is empty if there is none, and the read for the
// rest.
func (c *cache) lookup(key Key, read Read) (*cachedLog, Read) {
	now := c.timeline()
	c.mu.Lock()
	defer c.mu.Unlock()
	inner := Read{Initial: read.Initial, Damaged: read.Damaged}
	l, ok := c.logs.Get(key)
	if !ok || l.timeline != now {
		return &cachedLog{version: version{timeline: now}}, inner
	}
	inner.After, inner.Of = int64(len(l.entries)), l.ordinal
	return &cachedLog{version: l.version, entries: l.entries, calls: l.calls}, inner
}

// whole completes the store's answer to the read of lookup if the cached log is not a
// part of the one that the database has.
func (c *cache) whole(ctx context.Context, before *cachedLog, inner Read, s *Session) (*cachedLog, error) {
	now := c.timeline()
	if before.timeline == now && (before.ordinal != s.Ordinal || int64(len(before.entries)) <= s.Seq) {
		return before, nil
	}
	c.forget(s.Key)
	again, err := c.Store.Get(ctx, s.Key, Read{Damaged: inner.Damaged})
	if err != nil {
		return nil, err
	}
	if again.Ordinal != s.Ordinal || int64(len(again.Entries)) < s.Seq {
		return nil, ErrNotFound // it was deleted, and perhaps created again
	}
	s.Entries, s.Damaged = nil, 0
	for _, e := range again.Entries[:s.Seq] { // others may have written more by now
		s.Add(e)
	}
	return &cachedLog{version: version{timeline: now}}, nil
}

// fill combines the store's answer to the read of lookup with the cached log.
func (c *cache) fill(before *cachedLog, read Read, s *Session) *Session {
	all := s.Entries
	s.Calls = &CallIndex{}
	if before.ordinal == s.Ordinal && len(before.entries) > 0 {
		s.Calls = before.calls
		all = slices.Clip(before.entries)
		if len(s.Entries) > 0 {
			all = append(all, s.Entries...)
		}
	}
	if s.Damaged == 0 {
		c.learn(s.Key, version{before.timeline, s.Ordinal}, all, s.Calls)
	} else {
		s.Calls = &CallIndex{} // the shared index does not include damaged entries
	}
	from := min(max(read.After, 0), int64(len(all)))
	if read.Of != 0 && read.Of != s.Ordinal {
		from = 0
	}
	s.Entries = all[from:len(all):len(all)]
	return s
}

// learn caches a log, unless a longer one is cached.
func (c *cache) learn(key Key, v version, entries []*Entry, calls *CallIndex) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.logs.Peek(key); ok && cmp.Or(l.compare(v), cmp.Compare(len(l.entries), len(entries))) >= 0 {
		return
	}
	c.logs.Put(key, &cachedLog{version: v, entries: entries, calls: calls}, logOverhead+sizeOf(entries))
	c.logs.Evict(nil)
}

// version returns the version of the cached log; zero if there is none.
func (c *cache) version(key Key) version {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.logs.Peek(key); ok {
		return l.version
	}
	return version{}
}

// extend adds entries that have just been stored, if they follow the cached ones. v is
// the version before they were stored: if another one has been cached since, they may
// not belong to it.
func (c *cache) extend(key Key, v version, entries []*Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.logs.Peek(key)
	if !ok || len(entries) == 0 {
		return
	}
	if l.version != v || int64(len(l.entries))+1 != entries[0].Seq {
		return // another process has written in between; the next read gets it
	}
	l.entries = append(l.entries, entries...)
	c.logs.Grow(key, sizeOf(entries))
	c.logs.Evict(nil)
}

// shrink removes half of the logs. They grow again as sessions are used.
func (c *cache) shrink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := c.logs.Max
	c.logs.Max = c.logs.Size() / 2
	c.logs.Evict(nil)
	c.logs.Max = most
}

func sizeOf(entries []*Entry) (bytes int64) {
	for _, e := range entries {
		bytes += e.Size()
	}
	return bytes
}

func (c *cache) forget(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs.Delete(key)
}

// Get implements Sessions.
func (c *cache) Get(ctx context.Context, key Key, read Read) (*Session, error) {
	if read.NoEvents {
		return c.Store.Get(ctx, key, read)
	}
	known, inner := c.lookup(key, read)
	s, err := c.Store.Get(ctx, key, inner)
	if err != nil {
		return nil, err
	}
	if known, err = c.whole(ctx, known, inner, s); err != nil {
		return nil, err
	}
	return c.fill(known, read, s), nil
}

// Begin implements Runs.
func (c *cache) Begin(ctx context.Context, run NewRun) (*Begun, error) {
	read := run.Read
	known, inner := c.lookup(run.Key, read)
	run.Read = inner
	begun, err := c.Store.Begin(ctx, run)
	if err != nil || begun.Session == nil {
		return begun, err
	}
	if known, err = c.whole(ctx, known, inner, begun.Session); err != nil {
		return nil, c.unread(ctx, begun.Run, err)
	}
	c.fill(known, read, begun.Session)
	if run.Message != nil {
		c.extend(run.Key, version{known.timeline, begun.Session.Ordinal}, []*Entry{run.Message})
	}
	return begun, nil
}

// Claim implements Leases.
func (c *cache) Claim(ctx context.Context, key Key, read Read) (*Begun, error) {
	known, inner := c.lookup(key, read)
	begun, err := c.Store.Claim(ctx, key, inner)
	if err != nil {
		return nil, err
	}
	if known, err = c.whole(ctx, known, inner, begun.Session); err != nil {
		return nil, c.unread(ctx, begun.Run, err)
	}
	c.fill(known, read, begun.Session)
	return begun, nil
}

// unread hands a run over that has begun, because its session cannot be read.
func (c *cache) unread(ctx context.Context, run *Run, err error) error {
	if run.Epoch > 0 {
		err = errors.Join(err, c.HandOver(ctx, run.Key, run.Epoch))
	}
	return &UnavailableError{Cause: err, Doubt: true}
}

// Append implements Leases.
func (c *cache) Append(ctx context.Context, key Key, epoch int64, notes Journal, entries ...*Entry) error {
	known := c.version(key)
	err := c.Store.Append(ctx, key, epoch, notes, entries...)
	if err == nil {
		c.extend(key, known, entries)
	}
	return err
}

// End implements Leases.
func (c *cache) End(ctx context.Context, key Key, epoch int64, end End) (bool, error) {
	known := c.version(key)
	queued, err := c.Store.End(ctx, key, epoch, end)
	if err == nil {
		c.extend(key, known, end.Entries)
	}
	return queued, err
}

// Expire implements Upkeep.
func (c *cache) Expire(ctx context.Context, key Key, seq int64, runs []string, failure *Failure, entries ...*Entry) error {
	known := c.version(key)
	err := c.Store.Expire(ctx, key, seq, runs, failure, entries...)
	if err == nil {
		c.extend(key, known, entries)
	}
	return err
}

// Delete implements Sessions.
func (c *cache) Delete(ctx context.Context, key Key) error {
	c.forget(key)
	return c.Store.Delete(ctx, key)
}
