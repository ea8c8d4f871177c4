//go:build unix

package arena

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

var pageSize = unix.Getpagesize()

// reserve reserves addresses that cannot be accessed yet.
func reserve(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

// commit makes a part of the range accessible.
func commit(memory []byte) error { return unix.Mprotect(memory, unix.PROT_READ|unix.PROT_WRITE) }

// discard frees the memory of a part of the range, whose content is lost. It is
// only a hint.
func discard(memory []byte) { _ = unix.Madvise(memory, adviceDiscard) }

// revoke replaces the range by one without memory.
func revoke(memory []byte) error {
	at := unsafe.Pointer(unsafe.SliceData(memory)) //nolint:gosec // memory that is not Go's
	_, err := unix.MmapPtr(-1, 0, at, uintptr(len(memory)), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_FIXED)
	return err
}

func release(memory []byte) error { return unix.Munmap(memory) }
