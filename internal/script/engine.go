package script

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
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
	Load   time.Duration // time until the code is ready for calls; 0 for that of DefaultLimits
}

// DefaultLimits are generous for agents and small for a server.
var DefaultLimits = Limits{Memory: 256 << 20, Turn: 5 * time.Second, Call: 10 * time.Minute, Load: time.Minute}

func (l Limits) load() time.Duration { return cmp.Or(l.Load, DefaultLimits.Load) }

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
// A job that does not come to an end is interrupted after Limits.Turn. Where the
// engine does not notice, in built-in functions for example, its memory is
// revoked, and its goroutine ends with a fault. What its code leaves behind
// cannot be trusted then, so the engine is dead: the calls that were in flight
// end with an error, and its owner makes a new one. However an engine ends, its
// memory is freed as a whole.
type engine struct {
	vm       *quickjs.VM
	heap     *engineHeap
	limits   Limits
	watchdog *watchdog
	doors    *doors // for the engine's goroutine only; nil until the library has run

	mu     sync.Mutex
	jobs   []job
	wake   chan struct{}
	busy   bool // with jobs that are not among those
	closed bool

	killing sync.Once

	dead  chan struct{} // closed when the engine takes no more jobs
	cause error         // why; to be read after dead is closed
	gone  chan struct{} // closed when the goroutine has ended
}

// doors are the functions of the guest's half of the protocol.
type doors struct{ call, deliver quickjs.Value }

// hostFunc answers a call of JavaScript into Go, on the engine's goroutine: it
// must return at once.
type hostFunc func(payload string) (string, error)

// postFunc takes the answer to a call: what kind it is, which call, the value,
// and what else there is to say.
type postFunc func(kind string, id int64, value, rest string) error

func newEngine(limits Limits, hosts map[string]hostFunc, post postFunc) (*engine, error) {
	if n := stuck.Load(); n >= maxStuck {
		return nil, fmt.Errorf("start the JavaScript engine: %d engines run code that cannot be stopped, and no more are started: restart the server", n)
	}
	vm, heap, err := newVM(limits.Memory)
	if err != nil {
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	// The depth of calls keeps the engine's own limit, which is far below what
	// the stack of a goroutine may have.
	err = errors.Join(
		intl.Register(vm),
		vm.RegisterHostFunc("__host", func(args []any) (any, error) { return dispatch(hosts, args) }),
		vm.RegisterHostFunc("__post", func(args []any) (any, error) { return nil, answered(post, args) }),
	)
	if err != nil {
		_ = heap.close(vm)
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	e := &engine{vm: vm, heap: heap, limits: limits, wake: make(chan struct{}, 1), dead: make(chan struct{}), gone: make(chan struct{})}
	// Built-in functions may run where no interrupt reaches them, and code may
	// continue after one.
	e.watchdog = newWatchdog(vm.Interrupt, func() {
		e.end(e.runaway())
		e.kill()
	})
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

// answered hands over the answer to a call: __post(kind, id, value, rest).
func answered(post postFunc, args []any) error {
	if len(args) != 4 {
		return errors.New("an answer has four parts")
	}
	kind, _ := args[0].(string)
	value, _ := args[2].(string)
	rest, _ := args[3].(string)
	switch id := args[1].(type) {
	case int:
		return post(kind, int64(id), value, rest)
	case float64:
		return post(kind, int64(id), value, rest)
	}
	return errors.New("calls have numbers")
}

// loadLimit bounds what has to be done before the author's code runs. It is
// work of the engine, whose amount the size of the code decides.
const loadLimit = time.Minute

// gate is a module that the author's waits for: what it takes to compile is
// not counted as time for which it runs.
const gate = "gate.js"

// load runs bytecode, and then a module under a name, which its stack traces
// show. The result gets what becomes of that and of everything that it awaits at
// its top level, unless the engine ends before.
func (e *engine) load(library []byte, name, code string) <-chan error {
	done := make(chan error, 2)
	e.enqueue(job{loading: true, run: func() error {
		err := e.compile(library, name, code, done)
		if err != nil && e.fatal(err) == nil {
			done <- fmt.Errorf("start the code: %w", err)
		}
		return err
	}})
	e.post(func() error {
		_, err := e.vm.Eval(`__open?.(); delete globalThis.__open;`, quickjs.EvalGlobal)
		return err
	})
	return done
}

// compile begins to load a module, up to the gate. done gets what becomes of
// it.
func (e *engine) compile(library []byte, name, code string, done chan<- error) error {
	if _, err := e.vm.EvalBytecode(library); err != nil {
		return err
	}
	call, err := e.vm.EvalValue("__call", quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	deliver, err := e.vm.EvalValue("__deliver", quickjs.EvalGlobal)
	if err != nil {
		call.Free()
		return err
	}
	e.doors = &doors{call, deliver}
	e.vm.SetModuleLoader(func(_ *quickjs.VM, module string) (string, error) {
		switch module {
		case name:
			return code + "\nimport " + strconv.Quote(gate) + ";", nil // at the end, so that lines stay where they are
		case gate:
			return "await new Promise((open) => { globalThis.__open = open; });", nil
		}
		return "", fmt.Errorf("the module %q is not part of the bundle", module)
	}, nil)
	promise, err := e.vm.EvalValue(`import(`+strconv.Quote(name)+`).then(() => "", e => {
		__told(e);
		return JSON.stringify({name: e?.name, message: e == null ? "" : String(e.message ?? e), stack: String(e?.stack ?? "")});
	})`, 0)
	if err != nil {
		return err
	}
	then, err := promise.Then(func(v quickjs.Value) {
		text, _ := v.Any()
		if failure, _ := text.(string); failure != "" {
			done <- parseJSError([]byte(failure))
		} else {
			done <- nil
		}
	}, func(quickjs.Value) {})
	promise.Free()
	if err != nil {
		return err
	}
	then.Free()
	return nil
}

// call calls a function that the guest knows by its number. params and about
// are JSON.
func (e *engine) call(id int64, fn int, stream bool, params, about string) {
	e.post(func() error {
		if e.doors == nil {
			return nil // loading has failed, and nobody is there
		}
		_, err := e.doors.call.Call(quickjs.UndefinedValue, id, fn, stream, params, about)
		return unusable(err)
	})
}

// deliver hands a text to the guest's half of the protocol, if the engine is
// alive.
func (e *engine) deliver(text string) {
	e.post(func() error {
		if e.doors == nil {
			return nil
		}
		_, err := e.doors.deliver.Call(quickjs.UndefinedValue, text)
		return unusable(err)
	})
}

// job is something to be done by the engine's goroutine.
type job struct {
	run     func() error
	loading bool
}

// post queues a job, unless the engine has ended. It never blocks, and may be
// called by host functions.
func (e *engine) post(run func() error) { e.enqueue(job{run: run}) }

func (e *engine) enqueue(j job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.jobs = append(e.jobs, j)
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *engine) loop() {
	defer close(e.gone)
	defer func() { _ = e.heap.close(e.vm) }()
	debug.SetPanicOnFault(true) // see kill
	for range e.wake {
		for {
			e.mu.Lock()
			jobs := e.jobs
			e.jobs, e.busy = nil, len(jobs) > 0
			e.mu.Unlock()
			if len(jobs) == 0 {
				break
			}
			for _, j := range jobs {
				if err := e.turn(j); err != nil {
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
func (e *engine) turn(j job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the JavaScript engine crashed: %v", v)
		}
	}()
	limit := e.limits.Turn
	if j.loading {
		limit = loadLimit
	}
	e.watchdog.start(limit)
	defer e.watchdog.stop()
	if cause := e.fatal(j.run()); cause != nil {
		return cause
	}
	// An interrupt stops only what runs at that moment, so it is asked for here too.
	for !e.ended() && !e.watchdog.expired() {
		// The engine runs a great many microtasks at once, but not all of those
		// that feed themselves.
		n, err := e.vm.ExecutePendingJobs()
		if cause := e.fatal(err); cause != nil {
			return cause
		}
		// Other errors are those of one microtask, and have reached the code that
		// awaits its promise.
		if n < maxMicrotasks {
			break
		}
	}
	if e.watchdog.expired() {
		return e.runaway()
	}
	return nil
}

// maxMicrotasks is how many microtasks the engine runs at once, at most.
const maxMicrotasks = 1 << 20

// quiet reports whether the engine has nothing to do.
func (e *engine) quiet() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.busy && len(e.jobs) == 0
}

func (e *engine) ended() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}
