package script

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"modernc.org/quickjs"
	"modernc.org/quickjs/intl"
)

// Limits bound what the code of one application may use.
type Limits struct {
	Memory int64         // bytes of the engine's heap
	Turn   time.Duration // time for which code may run without giving way
	Call   time.Duration // time that one call may take, waiting included
}

// DefaultLimits are generous for agents and small for a server.
var DefaultLimits = Limits{Memory: 256 << 20, Turn: 5 * time.Second, Call: 10 * time.Minute}

// errDead means that an engine has been ended, by its owner or by a runaway.
var errDead = errors.New("the engine of the application was restarted")

// engine is one QuickJS runtime and the goroutine that owns it. It moves text
// between Go and JavaScript and knows nothing of its meaning.
//
// Everything that touches the runtime is a job, run by the owning goroutine one
// after the other; after each, what JavaScript has promised to itself (its
// microtasks) is run until nothing is left to do. So code of many calls
// interleaves where it awaits, as in Node.js.
//
// A job that does not come to an end is stopped after Limits.Turn. What its
// code leaves behind cannot be trusted then, so the engine is dead: the calls
// that were in flight end with an error, and its owner makes a new one.
type engine struct {
	vm       *quickjs.VM
	limits   Limits
	watchdog *time.Timer

	mu     sync.Mutex
	jobs   []func() error
	wake   chan struct{}
	closed bool

	dead  chan struct{} // closed when the engine takes no more jobs
	cause error         // why; to be read after dead is closed
	gone  chan struct{} // closed when the goroutine has ended
}

// hostFunc answers a call of JavaScript into Go, on the engine's goroutine: it
// must return at once.
type hostFunc func(payload string) (string, error)

func newEngine(limits Limits, hosts map[string]hostFunc) (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	vm.SetMemoryLimit(uintptr(limits.Memory))
	// The depth of calls keeps the engine's own limit, which is far below what
	// the stack of a goroutine may have.
	err = errors.Join(
		vm.SetEvalTimeout(limits.Turn),
		intl.Register(vm),
		vm.RegisterHostFunc("__host", func(args []any) (any, error) { return dispatch(hosts, args) }),
	)
	if err != nil {
		_ = vm.Close()
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	e := &engine{vm: vm, limits: limits, wake: make(chan struct{}, 1), dead: make(chan struct{}), gone: make(chan struct{})}
	// Functions of the engine itself may be stuck where no interrupt reaches
	// them. Then the engine is given up while it is still busy.
	e.watchdog = time.AfterFunc(time.Hour, func() { e.end(e.runaway()) })
	e.watchdog.Stop()
	go e.loop()
	return e, nil
}

// dispatch is the one door from JavaScript to Go: __host(name, payload). A
// panic behind it must not reach the engine, whose stack it would unwind.
func dispatch(hosts map[string]hostFunc, args []any) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the host function panicked: %v", v)
		}
	}()
	var name, payload string
	if len(args) > 0 {
		name, _ = args[0].(string)
	}
	if len(args) > 1 {
		payload, _ = args[1].(string)
	}
	fn := hosts[name]
	if fn == nil {
		return nil, fmt.Errorf("there is no host function %q", name)
	}
	return fn(payload)
}

// load runs a module under a name, which its stack traces show, and waits until
// it and everything that it awaits at its top level is done.
func (e *engine) load(ctx context.Context, name, code string) error {
	done := make(chan error, 1)
	e.post(func() error {
		e.vm.SetModuleLoader(func(_ *quickjs.VM, module string) (string, error) {
			if module == name {
				return code, nil
			}
			return "", fmt.Errorf("the module %q is not part of the bundle", module)
		}, nil)
		promise, err := e.vm.EvalValue(`import(`+quote(name)+`).then(() => "", e => JSON.stringify({name: e?.name, message: String(e?.message ?? e), stack: String(e?.stack ?? "")}))`, 0)
		if err != nil {
			done <- err
			return nil //nolint:nilerr // the engine can go on; whoever loads is told
		}
		_, err = promise.Then(func(v quickjs.Value) {
			text, _ := v.Any()
			if failure, _ := text.(string); failure != "" {
				done <- parseJSError([]byte(failure))
			} else {
				done <- nil
			}
		}, func(quickjs.Value) {})
		promise.Free()
		return err
	})
	select {
	case err := <-done:
		return err
	case <-e.dead:
		return e.cause
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deliver hands a text to the global function of that name, if the engine is
// alive.
func (e *engine) deliver(function, text string) {
	e.post(func() error {
		_, err := e.vm.Call(function, text)
		return err
	})
}

// post queues a job, unless the engine has ended. It never blocks, and may be
// called by host functions.
func (e *engine) post(job func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.jobs = append(e.jobs, job)
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *engine) loop() {
	defer close(e.gone)
	defer func() { _ = e.vm.Close() }()
	for range e.wake {
		for {
			e.mu.Lock()
			jobs := e.jobs
			e.jobs = nil
			e.mu.Unlock()
			if len(jobs) == 0 {
				break
			}
			for _, job := range jobs {
				if err := e.turn(job); err != nil {
					e.end(err)
					return
				}
				if e.ended() {
					return
				}
			}
		}
	}
}

// turn runs one job and the microtasks that follow from it. An error means that
// the engine cannot go on.
func (e *engine) turn(job func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the JavaScript engine crashed: %v", v)
		}
	}()
	began := time.Now()
	e.watchdog.Reset(2 * e.limits.Turn)
	defer e.watchdog.Stop()
	if err := job(); isInterrupt(err) {
		return e.runaway()
	}
	for {
		// The engine runs a great many microtasks at once, but not all of those
		// that feed themselves; and it counts the time anew.
		n, err := e.vm.ExecutePendingJobs()
		if isInterrupt(err) || time.Since(began) > e.limits.Turn {
			return e.runaway()
		}
		// Other errors are those of one microtask, and have reached whoever
		// waits for its promise.
		if n == 0 {
			return nil
		}
	}
}

func (e *engine) runaway() error {
	return fmt.Errorf("the code ran for more than %v without giving way, and was stopped", e.limits.Turn)
}

// isInterrupt tells the engine's own error from one of the code, whose message
// may well have the word in it.
func isInterrupt(err error) bool {
	if thrown, ok := errors.AsType[*quickjs.Error](err); ok {
		return thrown.Name == "InternalError" && thrown.Message == "interrupted"
	}
	reported, ok := errors.AsType[*Error](err)
	return ok && reported.Name == "InternalError" && reported.Message == "interrupted"
}

func (e *engine) ended() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// end makes the engine refuse jobs, and says why.
func (e *engine) end(cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed, e.jobs, e.cause = true, nil, cause
	close(e.dead)
	close(e.wake)
}

// close ends the engine. Code that is running is interrupted; an engine that
// cannot be is left to itself, to end when it comes to an end.
func (e *engine) close() {
	e.end(errDead)
	e.vm.Interrupt()
	select {
	case <-e.gone:
	case <-time.After(closeTimeout):
	}
}

const closeTimeout = 2 * time.Second
