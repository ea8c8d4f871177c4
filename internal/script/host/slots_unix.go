//go:build unix

package host

import "syscall"

// descriptors is how many files and connections the process may have open.
func descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return int(min(uint64(limit.Cur), 1<<20)) //nolint:unconvert // it is signed on some systems
}
