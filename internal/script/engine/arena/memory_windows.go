package arena

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

var pageSize = os.Getpagesize()

// reserve reserves addresses that cannot be accessed yet.
func reserve(size int) ([]byte, error) {
	at, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(unsafe.Add(nil, at)), size), nil
}

// commit makes a part of the range accessible.
func commit(memory []byte) error {
	_, err := windows.VirtualAlloc(address(memory), uintptr(len(memory)), windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

// discard frees the memory of a part of the range, whose content is lost. It is
// only a hint.
func discard(memory []byte) {
	_, _ = windows.VirtualAlloc(address(memory), uintptr(len(memory)), windows.MEM_RESET, windows.PAGE_READWRITE)
}

func revoke(memory []byte) error {
	return windows.VirtualFree(address(memory), uintptr(len(memory)), windows.MEM_DECOMMIT)
}

func release(memory []byte) error {
	return windows.VirtualFree(address(memory), 0, windows.MEM_RELEASE)
}

func address(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }
