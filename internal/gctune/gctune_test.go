package gctune

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

// cache is what a shortage empties.
type cache struct{ bytes []byte }

// Near the limit the caches shrink, and not before.
func TestCachesShrinkNearTheLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	c := &cache{bytes: make([]byte, 64<<20)}
	shrunk := 0
	OnShortage(c, func(c *cache) { shrunk, c.bytes = shrunk+1, nil })
	runtime.GC()
	w := newWatcher()
	debug.SetMemoryLimit(math.MaxInt64)
	w.look()
	debug.SetMemoryLimit(1 << 30)
	w.look()
	if shrunk != 0 {
		t.Fatal("caches shrink although there is memory")
	}
	debug.SetMemoryLimit(70 << 20)
	w.look()
	if shrunk != 1 || c.bytes != nil {
		t.Fatalf("caches have shrunk %d times, want once", shrunk)
	}
	w.look() // the collection after it has found that there is memory again
	if shrunk != 1 {
		t.Error("caches shrink although there is memory again")
	}
	debug.SetMemoryLimit(1 << 20) // whatever they do is not enough
	for range 200 {
		w.look()
	}
	if shrunk > 10 {
		t.Errorf("caches have shrunk %d times in 200 looks, though it does not help", shrunk)
	}
	runtime.KeepAlive(c)
}

// What is not used any more is not called, nor kept.
func TestShortageForgetsOwners(t *testing.T) {
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(shrinkers)
	}
	runtime.GC()
	before := count()
	OnShortage(&cache{bytes: make([]byte, 1<<10)}, func(*cache) {})
	testkit.Eventually(t, "the owner is forgotten", func() bool {
		runtime.GC()
		return count() <= before
	})
}
