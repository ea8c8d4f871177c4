package session

import (
	"container/list"
	"context"
	"slices"
	"sync"
)

// Cached keeps the logs of hot sessions in memory, in front of a store that
// many processes may write to. What it has is never taken for the whole: every
// read asks the store for what came after it, and a log that is only appended to
// has no other way to change. A session that was deleted and made again is told
// by its ordinal.
func Cached(store Store, bytes int64) Store {
	c := &cache{Store: store, room: bytes, known: map[Key]*list.Element{}, order: list.New()}
	store.Sessions, store.Runs, store.Leases, store.Upkeep = c, c, c, c
	return store
}

type cache struct {
	Store

	mu    sync.Mutex
	room  int64 // bytes of JSON that may still come in
	known map[Key]*list.Element
	order *list.List // of *cachedLog, the most recently used first
}

type cachedLog struct {
	key     Key
	ordinal int64
	entries []*Entry // the log from 1 on, append-only
	calls   *CallIndex
	size    int64
}

// What is needed, about, beside the bytes: for an entry, the structure and the
// decoded event; for a log, the structure and its place in the books.
const (
	entryOverhead = 512
	logOverhead   = 256
)

// lookup is what is known of a log, and the read that gets the rest.
func (c *cache) lookup(key Key, read Read) (*cachedLog, Read) {
	c.mu.Lock()
	defer c.mu.Unlock()
	inner := Read{Initial: read.Initial, Damaged: read.Damaged}
	el := c.known[key]
	if el == nil {
		return nil, inner
	}
	c.order.MoveToFront(el)
	l, _ := el.Value.(*cachedLog)
	inner.After, inner.Of = int64(len(l.entries)), l.ordinal
	return &cachedLog{key: l.key, ordinal: l.ordinal, entries: l.entries, calls: l.calls}, inner
}

// fill makes the answer to read of what the store has answered to lookup's.
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
		s.Calls = &CallIndex{} // that of the others is not for damaged entries
	}
	from := min(max(read.After, 0), int64(len(all)))
	if read.Of != 0 && read.Of != s.Ordinal {
		from = 0
	}
	s.Entries = all[from:len(all):len(all)]
	return s
}

// learn keeps a log, unless a longer one is known.
func (c *cache) learn(key Key, ordinal int64, entries []*Entry, calls *CallIndex) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.known[key]; el != nil {
		l, _ := el.Value.(*cachedLog)
		if l.ordinal > ordinal || l.ordinal == ordinal && len(l.entries) >= len(entries) {
			return
		}
		c.drop(el)
	}
	l := &cachedLog{key: key, ordinal: ordinal, entries: entries, calls: calls, size: logOverhead}
	for _, e := range entries {
		l.size += int64(len(e.JSON)) + entryOverhead
	}
	c.known[key] = c.order.PushFront(l)
	c.room -= l.size
	c.evict()
}

// ordinal is that of the session whose log is known, 0 if none is.
func (c *cache) ordinal(key Key) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.known[key]; el != nil {
		l, _ := el.Value.(*cachedLog)
		return l.ordinal
	}
	return 0
}

// extend adds entries that have just been stored, if they follow what is known.
// ordinal is what was known before they were: if another session has become
// known since, they may not be of that one.
func (c *cache) extend(key Key, ordinal int64, entries []*Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.known[key]
	if el == nil || len(entries) == 0 {
		return
	}
	l, _ := el.Value.(*cachedLog)
	if l.ordinal != ordinal || int64(len(l.entries))+1 != entries[0].Seq {
		return // another process has written in between; the next read gets it
	}
	l.entries = append(l.entries, entries...)
	for _, e := range entries {
		l.size += int64(len(e.JSON)) + entryOverhead
		c.room -= int64(len(e.JSON)) + entryOverhead
	}
	c.evict()
}

func (c *cache) evict() {
	for c.room < 0 {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(el *list.Element) {
	l, _ := c.order.Remove(el).(*cachedLog)
	delete(c.known, l.key)
	c.room += l.size
}

func (c *cache) forget(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.known[key]; el != nil {
		c.drop(el)
	}
}

// Get reads a session.
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

// Begin adds a run.
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

// Claim takes a run.
func (c *cache) Claim(ctx context.Context, key Key, read Read) (*Begun, error) {
	known, inner := c.lookup(key, read)
	begun, err := c.Store.Claim(ctx, key, inner)
	if err == nil {
		c.fill(known, read, begun.Session)
	}
	return begun, err
}

// Append writes under an epoch.
func (c *cache) Append(ctx context.Context, key Key, epoch int64, notes Journal, entries ...*Entry) error {
	known := c.ordinal(key)
	err := c.Store.Append(ctx, key, epoch, notes, entries...)
	if err == nil {
		c.extend(key, known, entries)
	}
	return err
}

// End ends a run.
func (c *cache) End(ctx context.Context, key Key, epoch int64, end End) (bool, error) {
	known := c.ordinal(key)
	queued, err := c.Store.End(ctx, key, epoch, end)
	if err == nil {
		c.extend(key, known, end.Entries)
	}
	return queued, err
}

// Expire ends waits.
func (c *cache) Expire(ctx context.Context, key Key, seq int64, runs []string, failure *Failure, entries ...*Entry) error {
	known := c.ordinal(key)
	err := c.Store.Expire(ctx, key, seq, runs, failure, entries...)
	if err == nil {
		c.extend(key, known, entries)
	}
	return err
}

// Delete removes a session.
func (c *cache) Delete(ctx context.Context, key Key) error {
	c.forget(key)
	return c.Store.Delete(ctx, key)
}
