//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// isolate puts a process into its own group, so that everything that it starts can
// be ended with it, and so that a Ctrl-C in the terminal does not reach it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

// killAll ends the remaining processes of a process group.
func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
