//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

type signal = syscall.Signal

const (
	sigInt  = syscall.SIGINT
	sigQuit = syscall.SIGQUIT
	sigKill = syscall.SIGKILL
)

// account is the user that the server runs as, nil for our own.
type account struct{ uid, gid int }

// unprivileged finds an account for the server, which refuses to run as root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if err == nil && gidErr == nil && uid != 0 {
			return &account{uid, gid}, nil
		}
	}
	return nil, errors.New("postgres does not run as root, and there is neither a user postgres nor a user nobody")
}

func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true} // ^C is for us: we stop the server
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	diesWithParent(attr)
	return attr
}

// process is a server's first process.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // how it ended; set before ended is closed
}

// launch starts the server. The thread that does so stays until it has ended:
// the server would take the end of the thread for the end of the process.
func launch(dir, log string, attr *syscall.SysProcAttr, program string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // in a directory of our own
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // it outlives what happens to start it
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, out, out, attr
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		_ = out.Close() // the server has its own
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.ended)
	}()
	return p, <-started
}

// end sends a signal and waits. A server that does not stop is killed.
func (p *process) end(sig signal) {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

const dirPrefix = "parley-postgres-"

// makeDir makes the directory of a server, with a lock that is held for as long
// as the process lives.
func makeDir() (string, *os.File, error) {
	dir, err := os.MkdirTemp("", dirPrefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in a directory of our own
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("locking it: %w", err), os.RemoveAll(dir))
	}
	return dir, lock, nil
}

// sweep removes the directories of processes that were killed before they could.
func sweep() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue // another process may be about to lock it
		}
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0) //nolint:gosec // our own prefix
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}
