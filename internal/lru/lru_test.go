package lru_test

import (
	"testing"

	"github.com/parley-run/parley/internal/lru"
)

func TestEvictTakesTheLeastRecentlyUsed(t *testing.T) {
	c := lru.New[string, int](30)
	for i, key := range []string{"a", "b", "c"} {
		c.Put(key, i, 10)
	}
	c.Get("a")
	c.Peek("b")
	c.Evict(nil)
	if c.Len() != 3 || c.Size() != 30 {
		t.Errorf("%d values of %d bytes, want all three", c.Len(), c.Size())
	}
	c.Put("d", 3, 10)
	c.Evict(nil)
	if _, ok := c.Peek("b"); ok || c.Len() != 3 || c.Size() != 30 {
		t.Errorf("b is there: %v; %d values of %d bytes", ok, c.Len(), c.Size())
	}
	c.Grow("d", 8)
	c.Evict(nil)
	if _, ok := c.Peek("c"); ok || c.Len() != 2 || c.Size() != 28 {
		t.Errorf("c is there: %v; %d values of %d bytes", ok, c.Len(), c.Size())
	}
}

func TestEvictKeepsWhatMayNotGo(t *testing.T) {
	c := lru.New[string, int](10)
	for i, key := range []string{"a", "b", "c"} {
		c.Put(key, i, 10)
	}
	var asked []string
	c.Evict(func(key string, value int) bool {
		asked = append(asked, key)
		return value > 0
	})
	if _, ok := c.Peek("a"); !ok || c.Len() != 1 || len(asked) != 3 {
		t.Errorf("a is there: %v; %d values; asked about %v", ok, c.Len(), asked)
	}
}

func TestPutReplaces(t *testing.T) {
	c := lru.New[string, int](100)
	c.Put("a", 1, 60)
	c.Put("a", 2, 20)
	if v, ok := c.Get("a"); !ok || v != 2 || c.Len() != 1 || c.Size() != 20 {
		t.Errorf("value %d (%v), %d values of %d bytes", v, ok, c.Len(), c.Size())
	}
	c.Delete("a")
	c.Delete("a")
	c.Grow("a", 5)
	if v, ok := c.Get("a"); ok || v != 0 || c.Len() != 0 || c.Size() != 0 {
		t.Errorf("after Delete: value %d (%v), %d values of %d bytes", v, ok, c.Len(), c.Size())
	}
}

// A value that alone is larger than the bound does not stay.
func TestTooLarge(t *testing.T) {
	c := lru.New[string, int](10)
	c.Put("a", 1, 5)
	c.Put("b", 2, 11)
	c.Evict(nil)
	if c.Len() != 0 || c.Size() != 0 {
		t.Errorf("%d values of %d bytes", c.Len(), c.Size())
	}
}
