//go:build unix

package node

import (
	"os"
	"os/exec"
	"syscall"
)

const supported = true

// separate makes the program the leader of a process group.
func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	prepare(cmd.SysProcAttr)
}

// blocking makes reading and writing wait, as the process expects.
func blocking(f *os.File) { _ = syscall.SetNonblock(int(f.Fd()), false) }

// killGroup ends a process, which may have left its group, and those of the group.
func killGroup(p *os.Process) {
	_ = p.Kill()
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
}
