package pgtest

import "syscall"

// diesWithParent makes the server stop, Immediate, when we are gone.
func diesWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
