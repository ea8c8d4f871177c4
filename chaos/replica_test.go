//go:build unix

package chaos

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// replica is a server, through all of its processes.
type replica struct {
	world   *world
	name    string
	binary  string
	db      string
	args    []string
	offset  time.Duration
	network network // none without Postgres

	fault sync.Mutex // held while a fault is injected

	mu      sync.Mutex
	process *process // nil while it is down
	lives   int
}

type process struct {
	cmd   *exec.Cmd
	base  string // of its URLs
	stdin io.Closer
	ended chan struct{}
	err   error // set before ended is closed
}

// launch starts a process and waits until it listens.
func (r *replica) launch() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lives++
	log, err := os.OpenFile(r.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(log, "--- life %d of %s, %.3f\n", r.lives, r.name, time.Since(r.world.start).Seconds())
	cmd := exec.Command(r.binary, append([]string{
		"--db", r.db, "--lease", r.world.lease.String(), "--clock_offset", r.offset.String(),
		"--ledger", r.world.ledger, "--name", fmt.Sprintf("%s.%d", r.name, r.lives),
	}, r.args...)...)
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.SysProcAttr = attributes()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p := &process{cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	started, first := make(chan error), make(chan string, 1)
	// The process takes the end of the thread that started it for the end of
	// the test, so that thread stays.
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			select {
			case first <- lines.Text():
			default:
			}
		}
		close(first)
		p.err = cmd.Wait()
	}()
	if err := <-started; err != nil {
		return err
	}
	select {
	case line := <-first:
		port, ok := strings.CutPrefix(line, "API server started on port ")
		if !ok {
			p.end(syscall.SIGKILL)
			return fmt.Errorf("%s does not start: %q", r.name, line)
		}
		p.base = "http://127.0.0.1:" + port
	case <-time.After(quiet):
		p.end(syscall.SIGKILL)
		return fmt.Errorf("%s does not start", r.name)
	}
	r.process = p
	return nil
}

func (r *replica) logFile() string { return filepath.Join(r.world.dir, r.name+".log") }

// end sends a signal and waits.
func (p *process) end(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	<-p.ended
	p.stdin.Close()
}

// base is where the server is, empty while it is down.
func (r *replica) base() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return ""
	}
	return r.process.base
}

// current is the process of the server.
func (r *replica) current() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

func (r *replica) take() *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.process
	r.process = nil
	return p
}

// kill is kill -9.
func (r *replica) kill() {
	if p := r.take(); p != nil {
		p.end(syscall.SIGKILL)
	}
}

// signal sends a signal that does not end it.
func (r *replica) signal(sig syscall.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != nil {
		_ = r.process.cmd.Process.Signal(sig)
	}
}

// terminate asks the server to end, and holds it to doing so with 0.
func (r *replica) terminate() time.Duration {
	p := r.take()
	if p == nil {
		return 0
	}
	begun := time.Now()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		if p.err != nil {
			r.world.Errorf("%s: told to end by SIGTERM, it ended with: %v", r.name, p.err)
		}
	case <-time.After(quiet):
		r.world.Errorf("%s: did not end %v after SIGTERM", r.name, quiet)
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // which tells where it hangs
		select {
		case <-p.ended:
		case <-time.After(5 * time.Second):
		}
		p.end(syscall.SIGKILL)
	}
	p.stdin.Close()
	return time.Since(begun)
}

// complain shows the end of what the server has logged.
func (r *replica) complain() {
	b, err := os.ReadFile(r.logFile())
	if err != nil {
		return
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, "level=INFO") {
			lines = append(lines, line)
		}
	}
	r.world.Logf("the log of %s ends with:\n%s", r.name, strings.Join(lines[max(0, len(lines)-25):], ""))
}
