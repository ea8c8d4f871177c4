package mcp

import "syscall"

// dieWithParent ends a process when ours ends, however it ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
