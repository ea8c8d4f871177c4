package cli

import "syscall"

// hideProcess keeps other processes of the same user from reading the memory and
// the environment of this one, as /proc would let them. It does not hold against
// root.
func hideProcess() error {
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
