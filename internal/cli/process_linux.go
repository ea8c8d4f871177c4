package cli

import "syscall"

// hideProcess prevents other processes of the same user from reading the memory and
// the environment of this one through /proc. It does not stop root.
func hideProcess() error {
	if _, _, errno := syscall.Syscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
