// Package lru keeps recently used values within a bound of bytes.
package lru

import "container/list"

// Cache maps keys to values, each with the number of bytes that it takes. It is not
// safe for concurrent use: its owner usually guards more than the cache with one
// mutex.
type Cache[K comparable, V any] struct {
	// Max is how many bytes the values may take after Evict.
	Max int64

	size  int64
	byKey map[K]*list.Element
	order *list.List // of *entry, the most recently used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// New returns an empty cache for so many bytes.
func New[K comparable, V any](bytes int64) *Cache[K, V] {
	return &Cache[K, V]{Max: bytes, byKey: map[K]*list.Element{}, order: list.New()}
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int { return len(c.byKey) }

// Size returns the number of bytes that the values take.
func (c *Cache[K, V]) Size() int64 { return c.size }

// Get returns a value, which counts as a use of it.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	el := c.byKey[key]
	if el == nil {
		return value, false
	}
	c.order.MoveToFront(el)
	return at[K, V](el).value, true
}

// Peek returns a value without counting that as a use.
func (c *Cache[K, V]) Peek(key K) (value V, ok bool) {
	el := c.byKey[key]
	if el == nil {
		return value, false
	}
	return at[K, V](el).value, true
}

// Put adds a value, or replaces the one of its key. Nothing is evicted: the owner
// calls Evict when values may go.
func (c *Cache[K, V]) Put(key K, value V, size int64) {
	c.Delete(key)
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, size})
	c.size += size
}

// Grow notes that a value takes more bytes than before.
func (c *Cache[K, V]) Grow(key K, bytes int64) {
	if el := c.byKey[key]; el != nil {
		at[K, V](el).size += bytes
		c.size += bytes
	}
}

// Delete removes a value, if it is there.
func (c *Cache[K, V]) Delete(key K) {
	if el := c.byKey[key]; el != nil {
		c.remove(el)
	}
}

// Evict removes the values that were not used for the longest time, until the
// others fit into Max. It asks may about each of them, if may is not nil, and keeps
// those for which may returns false. May must not change the cache.
func (c *Cache[K, V]) Evict(may func(K, V) bool) {
	for el := c.order.Back(); el != nil && c.size > c.Max; {
		oldest := el
		el = el.Prev()
		if e := at[K, V](oldest); may == nil || may(e.key, e.value) {
			c.remove(oldest)
		}
	}
}

func (c *Cache[K, V]) remove(el *list.Element) {
	c.order.Remove(el)
	e := at[K, V](el)
	delete(c.byKey, e.key)
	c.size -= e.size
}

func at[K comparable, V any](el *list.Element) *entry[K, V] {
	e, _ := el.Value.(*entry[K, V])
	return e
}
