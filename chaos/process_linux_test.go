package chaos

import "syscall"

// attributes make a process end with the one that started it, also when it is
// stopped.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
