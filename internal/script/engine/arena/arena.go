// Package arena allocates memory for a program that manages its memory by hand, such
// as one that was translated from C, in a range of addresses of its own. All of it
// can be freed at once, whatever the program has not freed itself, and even while it
// runs: its next access of the memory is a fault then, which
// [runtime/debug.SetPanicOnFault] turns into a panic.
package arena

import (
	"fmt"
	"math"
	"sync"
	"unsafe"
)

// Arena is a range of addresses and the blocks that are allocated in it. Only
// Revoke may be called while another method runs.
type Arena struct {
	blocks blocks
	base   uintptr

	mu      sync.Mutex
	memory  []byte // nil when the arena is closed
	revoked bool
}

const (
	// step is how much memory the operating system is asked for at once.
	step = 256 << 10
	// maxSize keeps the number of every word within 32 bits.
	maxSize = math.MaxUint32 / step * step * wordSize
)

// New makes an arena for size bytes, which take up memory only when they are
// used.
func New(size int64) (*Arena, error) {
	size = min(max(size, step), maxSize) / step * step
	memory, err := reserve(int(size))
	if err != nil {
		return nil, fmt.Errorf("reserve %d MB of addresses: %w", size>>20, err)
	}
	a := &Arena{memory: memory, base: uintptr(unsafe.Pointer(unsafe.SliceData(memory)))}                                    //nolint:gosec // memory that is not Go's, and stays where it is
	a.blocks = newBlocks(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(memory))), size/wordSize), a.grow, a.spare) //nolint:gosec // as above, and aligned to pages
	return a, nil
}

// Malloc allocates n bytes, aligned to 16. It returns 0 if there is not enough memory.
func (a *Arena) Malloc(n uintptr) uintptr { return a.address(a.blocks.malloc(uint64(n))) }

// Free frees what Malloc or Realloc has returned. It panics if p is not the
// address of such a block.
func (a *Arena) Free(p uintptr) { a.blocks.free(a.index(p)) }

// Realloc makes a block larger or smaller, and returns its address. If there is not
// enough memory it returns 0, and the block does not change.
func (a *Arena) Realloc(p, n uintptr) uintptr {
	return a.address(a.blocks.realloc(a.index(p), uint64(n)))
}

// Size returns the number of bytes that a block can hold, which may be more than were
// requested.
func (a *Arena) Size(p uintptr) uintptr { return uintptr(a.blocks.capacity(a.index(p))) }

// Used returns the number of bytes in allocated blocks, with their headers.
func (a *Arena) Used() int64 { return int64(a.blocks.used) * wordSize }

// Overhead is the number of bytes that a block takes up beyond its Size.
const Overhead = wordSize

func (a *Arena) address(word uint32) uintptr {
	if word == 0 {
		return 0
	}
	return a.base + uintptr(word)*wordSize
}

func (a *Arena) index(p uintptr) uint32 {
	word := (p - a.base) / wordSize
	if p%16 != 0 || word >= uintptr(len(a.blocks.words)) {
		panic(fmt.Sprintf("arena: %#x is not the address of a block", p))
	}
	return uint32(word)
}

// grow makes at least n more words usable after the first from of them, and
// returns how many are.
func (a *Arena) grow(from, n uint32) uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	begin := int(from) * wordSize
	end := min(begin+(int(n)*wordSize+step-1)/step*step, len(a.memory))
	if a.revoked || begin >= end || commit(a.memory[begin:end]) != nil {
		return 0
	}
	return uint32((end - begin) / wordSize)
}

// spare tells the operating system that the words from one up to another are
// not used at present.
func (a *Arena) spare(from, to uint32) {
	begin := (int(from)*wordSize + pageSize - 1) / pageSize * pageSize
	end := int(to) * wordSize / pageSize * pageSize
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.revoked && begin < end {
		discard(a.memory[begin:end])
	}
}

// Revoke frees the memory, and makes each access of it a fault. The addresses
// stay reserved until Close.
func (a *Arena) Revoke() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.revoked {
		return nil
	}
	a.revoked = true
	return revoke(a.memory)
}

// Close frees the memory and the addresses, which must not be used any more.
func (a *Arena) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	memory := a.memory
	if memory == nil {
		return nil
	}
	a.memory, a.revoked, a.blocks = nil, true, blocks{}
	return release(memory)
}
