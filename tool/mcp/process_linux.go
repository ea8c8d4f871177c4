package mcp

import "syscall"

// dieWithParent ends a process when this one ends, for any reason.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
