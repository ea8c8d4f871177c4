//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// isolate gives a process a group of its own, so that everything that it starts
// can be ended with it, and so that a Ctrl-C in our terminal is for us alone.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// killAll ends what is left of a process's group.
func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
