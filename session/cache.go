package session

import (
	"context"
	"slices"
	"sync"

	"github.com/parley-run/parley/internal/gctune"
	"github.com/parley-run/parley/internal/lru"
)

// Cached keeps the logs of active sessions in memory, in front of a store that many
// processes may write to. It never treats its copy as complete: every read asks the
// store for later entries, and an append-only log cannot change in another way. The
// ordinal distinguishes a session that was deleted and created again.
func Cached(store Store, bytes int64) Store {
	c := &cache{Store: store, logs: lru.New[Key, *cachedLog](bytes)}
	gctune.OnShortage(c, (*cache).shrink)
	store.Sessions, store.Runs, store.Leases, store.Upkeep = c, c, c, c
	return store
}

type cache struct {
	Store

	mu   sync.Mutex
	logs *lru.Cache[Key, *cachedLog]
}

type cachedLog struct {
	ordinal int64
	entries []*Entry // the log from sequence 1, append-only
	calls   *CallIndex
}

// logOverhead is the approximate size of a log without its entries.
const logOverhead = 256

// lookup returns the cached log, and the read for the rest.
func (c *cache) lookup(key Key, read Read) (*cachedLog, Read) {
	c.mu.Lock()
	defer c.mu.Unlock()
	inner := Read{Initial: read.Initial, Damaged: read.Damaged}
	l, ok := c.logs.Get(key)
	if !ok {
		return nil, inner
	}
	inner.After, inner.Of = int64(len(l.entries)), l.ordinal
	return &cachedLog{ordinal: l.ordinal, entries: l.entries, calls: l.calls}, inner
}

// fill combines the store's answer to the read of lookup with the cached log.
func (c *cache) fill(before *cachedLog, read Read, s *Session) *Session {
	all := s.Entries
	s.Calls = &CallIndex{}
	if before != nil && before.ordinal == s.Ordinal && len(before.entries) > 0 {
		s.Calls = before.calls
		all = slices.Clip(before.entries)
		if len(s.Entries) > 0 {
			all = append(all, s.Entries...)
		}
	}
	if s.Damaged == 0 {
		c.learn(s.Key, s.Ordinal, all, s.Calls)
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
func (c *cache) learn(key Key, ordinal int64, entries []*Entry, calls *CallIndex) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.logs.Peek(key); ok && (l.ordinal > ordinal || l.ordinal == ordinal && len(l.entries) >= len(entries)) {
		return
	}
	c.logs.Put(key, &cachedLog{ordinal: ordinal, entries: entries, calls: calls}, logOverhead+sizeOf(entries))
	c.logs.Evict(nil)
}

// ordinal returns the ordinal of the cached session; 0 if there is none.
func (c *cache) ordinal(key Key) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.logs.Peek(key); ok {
		return l.ordinal
	}
	return 0
}

// extend adds entries that have just been stored, if they follow the cached ones.
// ordinal is the one before they were stored: if another session has been cached
// since, they may not belong to it.
func (c *cache) extend(key Key, ordinal int64, entries []*Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.logs.Peek(key)
	if !ok || len(entries) == 0 {
		return
	}
	if l.ordinal != ordinal || int64(len(l.entries))+1 != entries[0].Seq {
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
	return c.fill(known, read, s), nil
}

// Begin implements Runs.
func (c *cache) Begin(ctx context.Context, run NewRun) (*Begun, error) {
	read := run.Read
	known, inner := c.lookup(run.Key, read)
	run.Read = inner
	begun, err := c.Store.Begin(ctx, run)
	if err == nil && begun.Session != nil {
		c.fill(known, read, begun.Session)
		if run.Message != nil {
			c.extend(run.Key, begun.Session.Ordinal, []*Entry{run.Message})
		}
	}
	return begun, err
}

// Claim implements Leases.
func (c *cache) Claim(ctx context.Context, key Key, read Read) (*Begun, error) {
	known, inner := c.lookup(key, read)
	begun, err := c.Store.Claim(ctx, key, inner)
	if err == nil {
		c.fill(known, read, begun.Session)
	}
	return begun, err
}

// Append implements Leases.
func (c *cache) Append(ctx context.Context, key Key, epoch int64, notes Journal, entries ...*Entry) error {
	known := c.ordinal(key)
	err := c.Store.Append(ctx, key, epoch, notes, entries...)
	if err == nil {
		c.extend(key, known, entries)
	}
	return err
}

// End implements Leases.
func (c *cache) End(ctx context.Context, key Key, epoch int64, end End) (bool, error) {
	known := c.ordinal(key)
	queued, err := c.Store.End(ctx, key, epoch, end)
	if err == nil {
		c.extend(key, known, end.Entries)
	}
	return queued, err
}

// Expire implements Upkeep.
func (c *cache) Expire(ctx context.Context, key Key, seq int64, runs []string, failure *Failure, entries ...*Entry) error {
	known := c.ordinal(key)
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
