package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/script/tempdir"
)

// process is an engine.Thread: a process of Node.js, and the goroutines that speak
// with it. The other side is boot.cjs.
//
//	commands  Go sends calls and messages; the code handles them when it yields
//	frames    the code sends answers, and calls functions of Go
//	answers   Go answers to functions, for which the code waits
//	lifeline  nothing is sent; its end tells the process that the server has ended
type process struct {
	Options
	limits    engine.Limits
	functions map[string]engine.Function
	post      engine.Post
	dir       *tempdir.Dir // for its files
	mark      string       // in its environment, and in that of the processes that it starts
	cmd       *exec.Cmd
	loaded    chan error

	commands, answers, lifeline *os.File // the ends for writing
	frames                      *os.File
	read                        chan struct{} // closed when there are no more frames
	output                      output

	mu     sync.Mutex
	queue  [][]byte // frames to be sent
	wake   chan struct{}
	sent   int64 // frames
	idle   int64 // how many frames the code had handled when it had nothing to do
	ping   ping
	ran    bool // the modules of the application have run
	closed bool
	over   bool // its number may be that of another process

	dead  chan struct{} // closed when the process accepts no more frames
	cause error         // why; may be read after dead is closed
	gone  chan struct{} // closed when nothing is left of it
}

// start starts a process without code.
func start(o Options, limits engine.Limits, functions map[string]engine.Function, post engine.Post) (*process, error) {
	program, err := find(o.App)
	if err != nil {
		return nil, err
	}
	p := &process{
		Options: o, limits: limits, functions: functions, post: post, mark: markName + "=" + rand.Text(),
		loaded: make(chan error, 2), read: make(chan struct{}), idle: -1,
		wake: make(chan struct{}, 1), dead: make(chan struct{}), gone: make(chan struct{}),
	}
	if p.dir, err = scratch(); err != nil {
		return nil, fmt.Errorf("start Node.js: %w", err)
	}
	if err := p.run(program); err != nil {
		_ = p.dir.Close()
		return nil, fmt.Errorf("start Node.js: %w", err)
	}
	return p, nil
}

// run starts the program and everything that communicates with it.
func (p *process) run(program string) error {
	var theirs []*os.File
	var opened []*os.File
	pipe := func(toProcess bool) *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			return nil
		}
		opened = append(opened, r, w)
		if toProcess {
			theirs = append(theirs, r)
			return w
		}
		theirs = append(theirs, w)
		return r
	}
	stdout, stderr := pipe(false), pipe(false)
	p.commands, p.frames, p.answers, p.lifeline = pipe(true), pipe(false), pipe(true), pipe(true)
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	if len(theirs) < 6 {
		closeAll(opened)
		return errors.New("no pipe could be opened")
	}
	p.cmd = exec.Command(program, heapMB(p.limits), "--no-warnings", filepath.Join(p.dir.Path, bootFile)) //nolint:gosec,noctx // Close ends it
	p.cmd.Dir, p.cmd.Env = p.Dir, environ(p.dir.Path, p.mark)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = theirs[0], theirs[1], theirs[2:]
	separate(p.cmd)
	for _, f := range theirs {
		blocking(f) // code does not expect anything else of its standard output
	}
	started := make(chan error)
	go func() {
		// The system may send a signal when the thread ends that has started a
		// process, which must not be before the server does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.wait([]*os.File{stdout, stderr})
		}
	}()
	err := <-started
	closeAll(theirs)
	if err != nil {
		closeAll(opened)
		return err
	}
	limit(p.cmd.Process.Pid, p.limits.Memory)
	go p.forward(stdout, "info")
	go p.forward(stderr, "error")
	go p.write()
	go p.receive()
	go p.watch()
	return nil
}

// wait waits for the end of the program, and removes what is left of it.
func (p *process) wait(output []*os.File) {
	err := p.cmd.Wait()
	p.mu.Lock()
	killGroup(p.cmd.Process) // now: later, the number may be that of another group
	p.over = true
	p.mu.Unlock()
	select { // what it has sent before is part of its answers
	case <-p.read:
	case <-time.After(drainTimeout):
	}
	switch {
	case outOfMemory(p.output.last()):
		err = p.limits.Exhausted()
	case err == nil:
		err = errors.New("the application has ended its process")
	default:
		err = fmt.Errorf("the application's process of Node.js has ended: %w", err)
	}
	p.End(err)
	killMarked(p.mark)
	for _, f := range append(output, p.commands, p.frames, p.answers, p.lifeline) {
		_ = f.Close()
	}
	_ = p.dir.Close()
	close(p.gone)
}

const drainTimeout = time.Second

// End implements engine.Thread.
func (p *process) End(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		killGroup(p.cmd.Process)
	}
	if p.closed {
		return
	}
	p.closed, p.queue, p.cause = true, nil, cause
	close(p.dead)
}

// Done implements engine.Thread.
func (p *process) Done() <-chan struct{} { return p.dead }

// Err implements engine.Thread.
func (p *process) Err() error {
	select {
	case <-p.dead:
		return p.cause
	default:
		return nil
	}
}

// Close implements engine.Thread.
func (p *process) Close() {
	p.End(engine.ErrClosed)
	<-p.gone
}

// Load implements engine.Thread.
func (p *process) Load(library []byte, name, code string) <-chan error {
	err := errors.Join(
		os.WriteFile(filepath.Join(p.dir.Path, libraryFile), library, 0o600),
		os.WriteFile(filepath.Join(p.dir.Path, name), []byte(code), 0o600),
	)
	if err != nil {
		p.loaded <- fmt.Errorf("start the code: %w", err)
		return p.loaded
	}
	p.send("load", name)
	return p.loaded
}

// Call implements engine.Thread.
func (p *process) Call(id int64, fn int, stream bool, params, about string) {
	p.send("call", id, fn, stream, params, about)
}

// Deliver implements engine.Thread.
func (p *process) Deliver(text string) { p.send("deliver", text) }

// Idle implements engine.Thread.
func (p *process) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle == p.sent
}

// Full implements engine.Thread: Node.js ends when it has no memory.
func (p *process) Full() bool { return false }

// Fatal implements engine.Thread: what Node.js cannot continue after ends it.
func (p *process) Fatal(error) error { return nil }

// Exhausted implements engine.Thread.
func (p *process) Exhausted() error { return p.limits.Exhausted() }
