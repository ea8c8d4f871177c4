package arena

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// check walks through all blocks, and through all lists of those that are free.
func (h *blocks) check(t *testing.T) {
	t.Helper()
	free := map[uint32]bool{}
	used, wasFree := uint32(0), false
	for b := uint32(1); b != h.top; b += h.size(b) {
		if h.size(b) < minBlock || h.size(b)%2 != 0 || b+h.size(b) > h.top {
			t.Fatalf("block %d of %d has size %d", b, h.top, h.size(b))
		}
		if (h.words[b]&isBeforeFree != 0) != wasFree {
			t.Fatalf("block %d does not know whether the one before it is free", b)
		}
		isFree := h.words[b]&isFree != 0
		switch {
		case isFree && (wasFree || b+h.size(b) == h.top):
			t.Fatalf("the free block %d was not joined with its neighbour", b)
		case isFree:
			free[b] = true
			if uint32(h.words[b+h.size(b)-1]) != h.size(b) {
				t.Fatalf("the free block %d does not end with its size", b)
			}
		default:
			used += h.size(b)
		}
		wasFree = isFree
	}
	if used != h.used {
		t.Fatalf("%d words are used, and %d are counted", used, h.used)
	}
	for bin, first := range h.lists {
		if (first != 0) != (h.known[bin/64]&(1<<(bin%64)) != 0) {
			t.Fatalf("list %d begins with %d and has another mark", bin, first)
		}
		before := uint32(0)
		for b := first; b != 0; b = h.next(b) {
			if !free[b] || h.before(b) != before || int(binOf(h.size(b))) != bin {
				t.Fatalf("block %d of size %d is in list %d", b, h.size(b), bin)
			}
			delete(free, b)
			before = b
		}
	}
	if len(free) > 0 {
		t.Fatalf("the free blocks %v are in no list", free)
	}
}

// Whatever is allocated, resized and freed in whatever order: contents stay,
// blocks do not overlap, and nothing is left in the end.
func TestBlocks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 14))
		var h blocks
		spared := 0
		h = newBlocks(make([]uint64, 1<<20),
			func(from, n uint32) uint32 { return min(n+1000, uint32(len(h.words))-from) },
			func(from, to uint32) {
				if from < to {
					spared++
					clear(h.words[from:to])
				}
			})
		type held struct {
			at   uint32
			mark uint64
			n    uint64
		}
		var blocks []held
		fill := func(b held) {
			for i := range uint32(b.n / wordSize) {
				h.words[b.at+i] = b.mark
			}
		}
		intact := func(b held, n uint64) {
			t.Helper()
			if h.capacity(b.at) < b.n || b.at%2 != 0 {
				t.Fatalf("a block at %d for %d bytes has room for %d", b.at, b.n, h.capacity(b.at))
			}
			for i := range uint32(n / wordSize) {
				if h.words[b.at+i] != b.mark {
					t.Fatalf("word %d of a block of %d bytes has changed", i, b.n)
				}
			}
		}
		size := func() uint64 { return random.Uint64N(1 << random.UintN(18)) }
		for step := range 10000 {
			switch i := random.IntN(len(blocks) + 1); {
			case i == len(blocks) || random.IntN(3) == 0 && len(blocks) < 500:
				b := held{mark: random.Uint64(), n: size()}
				if b.at = h.malloc(b.n); b.at != 0 {
					fill(b)
					blocks = append(blocks, b)
				}
			case random.IntN(2) == 0:
				b, n := blocks[i], size()
				if at := h.realloc(b.at, n); at != 0 {
					was := b.n
					b.at, b.n = at, n
					intact(b, min(was, n))
					fill(b)
					blocks[i] = b
				}
			default:
				intact(blocks[i], blocks[i].n)
				h.free(blocks[i].at)
				blocks = slices.Delete(blocks, i, i+1)
			}
			if step%500 == 0 {
				h.check(t)
			}
		}
		for _, b := range blocks {
			intact(b, b.n)
			h.free(b.at)
		}
		h.check(t)
		if h.used != 0 || h.top != 1 || spared == 0 {
			t.Errorf("in the end, %d words are used, up to %d; memory was spared %d times", h.used, h.top, spared)
		}
	}
}

// There is not more than there is, and what is too large changes nothing.
func TestOutOfSpace(t *testing.T) {
	t.Parallel()
	var h blocks
	h = newBlocks(make([]uint64, 1<<12), func(from, n uint32) uint32 { return min(n, uint32(len(h.words))-from) }, func(uint32, uint32) {})
	for _, n := range []uint64{1 << 12 * wordSize, 1 << 40, 1<<64 - 1, 1<<64 - 8} {
		if got := h.malloc(n); got != 0 {
			t.Errorf("%d bytes are at %d", n, got)
		}
	}
	b := h.malloc(100)
	h.words[b] = 42
	if got := h.realloc(b, 1<<40); got != 0 || h.words[b] != 42 {
		t.Errorf("the block is at %d", got)
	}
	for h.malloc(1000) != 0 {
	}
	if h.malloc(10) == 0 {
		t.Error("there is no room for a little, either")
	}
	h.check(t)
}

// What frees something twice, or something else, is stopped.
func TestBadFree(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(h *blocks, b uint32){
		"twice":   func(h *blocks, b uint32) { h.free(b); h.free(b) },
		"inside":  func(h *blocks, b uint32) { clear(h.words[b : b+2]); h.free(b + 2) },
		"beyond":  func(h *blocks, b uint32) { h.free(b + 1<<10) },
		"nothing": func(h *blocks, _ uint32) { h.free(0) },
		"odd":     func(h *blocks, b uint32) { h.free(b + 1) },
		"damaged": func(h *blocks, b uint32) { h.words[b-1] = 1 << 40; h.free(b) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newBlocks(make([]uint64, 1<<12), func(uint32, uint32) uint32 { return 1 << 12 }, func(uint32, uint32) {})
			b := h.malloc(100)
			h.malloc(100)
			defer func() {
				if recover() == nil {
					t.Error("it was freed")
				}
			}()
			fail(&h, b)
		})
	}
}
