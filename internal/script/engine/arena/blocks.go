package arena

import "math/bits"

// blocks allocates pieces of a slice of words.
//
// A block begins with a header, which has its size in words and two flags, and
// is followed by the next block. What is allocated begins after the header. A
// free block also has the numbers of its neighbours in a list after its header,
// and its size in its last word; free blocks that touch are joined. There is one
// list for each of some 240 ranges of sizes (eight for each power of two). What
// follows after the last block was never used, or was freed.
//
// Blocks are known by the number of the word of their header, which is odd, so
// that what follows it is aligned to 16 bytes. 0 is none.
type blocks struct {
	words []uint64
	top   uint32 // end of the last block
	ready uint32 // words that may be accessed, more than top
	used  uint32 // words in blocks that are allocated
	loose uint32 // words that were freed since the last look for memory to spare

	lists [bins]uint32      // the first block of each
	known [bins / 64]uint64 // a bit for each list that is not empty

	grow  func(from, n uint32) uint32
	spare func(from, to uint32)
}

const (
	wordSize = 8
	bins     = 256

	isFree       = 1 << 0
	isBeforeFree = 1 << 1 // the block before is free
	sizeShift    = 2

	minBlock = 4 // words: header, list, size, and one more since the number is even
	minRest  = 16

	spareBlock = 64 << 10 / wordSize // a block whose memory is worth returning
	spareAfter = 4 << 20 / wordSize  // how much has to be freed before looking for such blocks
)

func newBlocks(words []uint64, grow func(from, n uint32) uint32, spare func(from, to uint32)) blocks {
	return blocks{words: words, top: 1, grow: grow, spare: spare}
}

// malloc returns the number of the first word of n bytes, 0 if there are none.
func (h *blocks) malloc(n uint64) uint32 {
	size := h.sizeFor(n)
	if size == 0 {
		return 0
	}
	b := h.find(size)
	if b == 0 {
		if b = h.extend(size); b == 0 {
			return 0
		}
		h.words[b] = uint64(size) << sizeShift
	} else {
		h.unlink(b)
		h.clearBeforeFree(b + h.size(b))
		h.words[b] &^= isFree
		h.split(b, size)
	}
	h.used += h.size(b)
	return b + 1
}

func (h *blocks) free(word uint32) {
	b := h.allocated(word)
	size := h.size(b)
	h.used -= size
	h.loose += size
	h.release(b)
	if h.loose > max(spareAfter, h.used/2) {
		h.spareMemory()
	}
}

func (h *blocks) realloc(word uint32, n uint64) uint32 {
	b := h.allocated(word)
	size, was := h.sizeFor(n), h.size(b)
	if size == 0 {
		return 0
	}
	h.used -= was
	if size > was {
		switch next := b + was; {
		case next == h.top && h.extend(size-was) != 0:
			h.setSize(b, size)
		case next != h.top && h.words[next]&isFree != 0 && was+h.size(next) >= size:
			h.unlink(next)
			h.clearBeforeFree(next + h.size(next))
			h.setSize(b, was+h.size(next))
		default:
			h.used += was
			moved := h.malloc(n)
			if moved == 0 {
				return 0
			}
			copy(h.words[moved:], h.words[word:b+was])
			h.free(word)
			return moved
		}
	}
	h.split(b, size)
	h.used += h.size(b)
	return word
}

// capacity is the number of bytes that a block can hold.
func (h *blocks) capacity(word uint32) uint64 { return uint64(h.size(h.allocated(word))-1) * wordSize }

// allocated is the block whose content begins with a word. It panics if there
// is none: a program that manages its memory by hand may be wrong about it.
func (h *blocks) allocated(word uint32) uint32 {
	b := word - 1
	if word%2 != 0 || word == 0 || b >= h.top || h.words[b]&isFree != 0 || h.size(b) < minBlock || h.size(b) > h.top-b {
		panic("arena: a block that is not allocated is freed or resized, or its header was overwritten")
	}
	return b
}

// sizeFor is the size of a block for n bytes, 0 if none can be as large.
func (h *blocks) sizeFor(n uint64) uint32 {
	if n > uint64(len(h.words))*wordSize {
		return 0
	}
	return max(uint32((n+wordSize+15)/16*2), minBlock)
}

func (h *blocks) size(b uint32) uint32 { return uint32(h.words[b] >> sizeShift) }

func (h *blocks) setSize(b, size uint32) {
	h.words[b] = uint64(size)<<sizeShift | h.words[b]&(1<<sizeShift-1)
}

// extend moves the end of the last block by size, and returns where it was; 0
// if there is not enough memory.
func (h *blocks) extend(size uint32) uint32 {
	if uint64(h.top)+uint64(size) >= uint64(len(h.words)) {
		return 0
	}
	if need := h.top + size + 1; need > h.ready {
		more := h.grow(h.ready, need-h.ready)
		if more == 0 {
			return 0
		}
		h.ready += more
	}
	b := h.top
	h.top += size
	return b
}

// split shortens a block that is allocated to size, if the rest is of some use.
func (h *blocks) split(b, size uint32) {
	was := h.size(b)
	if was < size+minRest {
		return
	}
	h.setSize(b, size)
	rest := b + size
	h.words[rest] = uint64(was-size) << sizeShift
	h.release(rest)
}

// release makes a block one that is free, and joins it with those beside it.
func (h *blocks) release(b uint32) {
	size := h.size(b)
	if h.words[b]&isBeforeFree != 0 {
		before := uint32(h.words[b-1])
		b -= before
		size += before
		h.unlink(b)
	}
	next := b + size
	if next != h.top && h.words[next]&isFree != 0 {
		h.unlink(next)
		size += h.size(next)
		next = b + size
	}
	if next == h.top {
		h.top = b
		return
	}
	h.words[b] = uint64(size)<<sizeShift | isFree
	h.words[next-1] = uint64(size)
	h.words[next] |= isBeforeFree
	h.link(b)
}

func (h *blocks) clearBeforeFree(b uint32) {
	if b != h.top {
		h.words[b] &^= isBeforeFree
	}
}

// binOf is the list that a block of some size belongs to.
func binOf(size uint32) uint32 {
	exponent := uint32(bits.Len32(size)) - 1 // 2 or more
	return (exponent-2)*8 + uint32(uint64(size)<<1>>(exponent-2))&7
}

// find is a free block that is large enough, of those that are not much larger
// if there is one; 0 if there is none.
func (h *blocks) find(size uint32) uint32 {
	bin := binOf(size)
	b := h.lists[bin]
	for range 16 { // others of that list may be too small
		if b == 0 {
			break
		}
		if h.size(b) >= size {
			return b
		}
		b = h.next(b)
	}
	bin++
	for i := bin / 64; i < bins/64; i++ {
		known := h.known[i]
		if i == bin/64 {
			known &= ^uint64(0) << (bin % 64)
		}
		if known != 0 {
			return h.lists[i*64+uint32(bits.TrailingZeros64(known))]
		}
	}
	return 0
}

func (h *blocks) next(b uint32) uint32   { return uint32(h.words[b+1] >> 32) }
func (h *blocks) before(b uint32) uint32 { return uint32(h.words[b+1]) }

func (h *blocks) link(b uint32) {
	bin := binOf(h.size(b))
	first := h.lists[bin]
	h.words[b+1] = uint64(first) << 32
	if first != 0 {
		h.words[first+1] |= uint64(b)
	}
	h.lists[bin] = b
	h.known[bin/64] |= 1 << (bin % 64)
}

func (h *blocks) unlink(b uint32) {
	next, before := h.next(b), h.before(b)
	if next != 0 {
		h.words[next+1] = uint64(h.next(next))<<32 | uint64(before)
	}
	if before != 0 {
		h.words[before+1] = uint64(next)<<32 | uint64(h.before(before))
		return
	}
	bin := binOf(h.size(b))
	h.lists[bin] = next
	if next == 0 {
		h.known[bin/64] &^= 1 << (bin % 64)
	}
}

// spareMemory returns the memory of large free blocks to the operating system.
func (h *blocks) spareMemory() {
	h.loose = 0
	for bin := binOf(spareBlock); bin < bins; bin++ {
		for b := h.lists[bin]; b != 0; b = h.next(b) {
			h.spare(b+2, b+h.size(b)-1)
		}
	}
	h.spare(h.top, h.ready)
}
