package engine

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"modernc.org/quickjs"
	"modernc.org/quickjs/intl"
)

// Limits bound the resources of one engine.
type Limits struct {
	Memory int64         // bytes of the heap
	Turn   time.Duration // time for which code may run without yielding
	Call   time.Duration // time that one call may take, waiting included
	Load   time.Duration // time until the code is ready for calls; 0 for the default
}

// DefaultLimits returns limits that are generous for agents and small for a
// server.
func DefaultLimits() Limits {
	return Limits{Memory: 256 << 20, Turn: 5 * time.Second, Call: 10 * time.Minute, Load: defaultLoad}
}

const defaultLoad = time.Minute

// Runaway is the error of code that does not yield.
func (l Limits) Runaway() error {
	return fmt.Errorf("the code ran for more than %v without yielding, and was stopped", l.Turn)
}

// Exhausted is the error of code that has run out of memory.
func (l Limits) Exhausted() error {
	return fmt.Errorf("the code ran out of memory (%d MB), and was stopped; the operator of the server can allow more (--engine_memory)", l.Memory>>20)
}

// ErrClosed means that an engine was closed.
var ErrClosed = errors.New("the engine of the application was restarted")

// thread is a Thread: one QuickJS runtime and the goroutine that owns it.
//
// Everything that touches the runtime is a job. The goroutine runs one job after
// the other, and after each the microtasks of JavaScript until none is left. So
// the code of several calls interleaves where it awaits, as in Node.js.
//
// A job that does not end is interrupted after Limits.Turn. Where the interpreter
// does not check for interrupts, in built-in functions for example, its memory is
// revoked, and the goroutine ends with a fault. The state that such code leaves
// behind cannot be trusted, so the thread ends: calls in flight fail, and the
// owner of the engine makes a new one. However a thread ends, its memory is freed
// as a whole.
type thread struct {
	vm       *quickjs.VM
	fields   fields // of vm
	heap     *vmHeap
	limits   Limits
	watchdog *watchdog
	answers  *answers     // QuickJS has the addresses of its functions
	entry    *entryPoints // for the goroutine only; nil until the library has run
	clock    *clock       // of the timers of the code

	mu     sync.Mutex
	jobs   []job
	spare  []job // memory for the next ones (BenchmarkTurn)
	wake   chan struct{}
	busy   bool // with jobs that have left the queue
	closed bool

	killing sync.Once

	dead  chan struct{} // closed when the thread accepts no more jobs
	cause error         // why; may be read after dead is closed
	gone  chan struct{} // closed when the goroutine has ended
}

// entryPoints are the functions of js/guest.js that Go calls. next calls the function that
// it gets as its object, with what answers.prepare was given.
type entryPoints struct{ call, deliver, next quickjs.Value }

// QuickJS starts a thread in this process. Its library is bytecode.
func QuickJS(limits Limits, functions map[string]Function, post Post) (Thread, error) {
	t, err := newThread(limits, functions, post)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func newThread(limits Limits, functions map[string]Function, post Post) (*thread, error) {
	if n := stuck.Load(); n >= maxStuck {
		return nil, fmt.Errorf("start the JavaScript engine: %d engines run code that cannot be stopped, and no more are started: restart the server", n)
	}
	vm, heap, err := newVM(limits.Memory)
	if err != nil {
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	fields, err := fieldsOf(vm)
	if err != nil {
		_ = heap.close(vm)
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	t := &thread{vm: vm, fields: fields, heap: heap, limits: limits, wake: make(chan struct{}, 1), dead: make(chan struct{}), gone: make(chan struct{})}
	t.clock = newClock(t.fire)
	functions = maps.Clone(functions)
	functions["timer"], functions["stopTimer"] = t.clock.start, t.clock.cancel
	// The depth of calls keeps the engine's own limit, which is far below what
	// the stack of a goroutine may have.
	err = errors.Join(
		intl.Register(vm),
		vm.RegisterHostFunc("__host", func(args []any) (any, error) { return dispatch(functions, args) }),
		vm.RegisterHostFunc("__post", func(args []any) (any, error) { return nil, answered(post, args) }),
	)
	if err == nil {
		t.answers, err = newAnswers(vm, post)
	}
	if err != nil {
		_ = heap.close(vm)
		return nil, fmt.Errorf("start the JavaScript engine: %w", err)
	}
	// Built-in functions do not check for interrupts, and code may continue after
	// one.
	t.watchdog = newWatchdog(vm.Interrupt, func() {
		t.End(t.runaway())
		t.kill()
	})
	go t.loop()
	return t, nil
}

// dispatch calls a function for JavaScript: __host(name, payload).
func dispatch(functions map[string]Function, args []any) (any, error) {
	var name, payload string
	if len(args) > 0 {
		name, _ = args[0].(string)
	}
	if len(args) > 1 {
		payload, _ = args[1].(string)
	}
	return Dispatch(functions, name, payload)
}

// answered receives the answer to a call: __post(kind, id, value, rest).
func answered(post Post, args []any) error {
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

// compileLimit bounds the time for compiling, which depends on the size of the
// code.
const compileLimit = time.Minute

// barrier is a module that the author's module awaits: time for compiling does
// not count as time for which the code runs.
const barrier = "barrier.js"

// Load implements Thread.
func (t *thread) Load(library []byte, name, code string) <-chan error {
	done := make(chan error, 2)
	t.enqueue(job{loading: true, run: func() error {
		err := t.compile(library, name, code, done)
		if err != nil && t.Fatal(err) == nil {
			done <- fmt.Errorf("start the code: %w", err)
		}
		return err
	}})
	t.post(func() error {
		_, err := t.vm.Eval(`__open?.(); delete globalThis.__open;`, quickjs.EvalGlobal)
		return err
	})
	return done
}

// compile begins to load a module, up to the barrier. done receives its result.
func (t *thread) compile(library []byte, name, code string, done chan<- error) error {
	if _, err := t.vm.EvalBytecode(library); err != nil {
		return err
	}
	call, err := t.vm.EvalValue("__call", quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	deliver, err := t.vm.EvalValue("__deliver", quickjs.EvalGlobal)
	if err != nil {
		call.Free()
		return err
	}
	next, err := t.vm.EvalValue(`(() => { const next = globalThis.__next; delete globalThis.__next; return next; })()`, quickjs.EvalGlobal)
	if err != nil {
		call.Free()
		deliver.Free()
		return err
	}
	t.entry = &entryPoints{call, deliver, next}
	t.vm.SetModuleLoader(func(_ *quickjs.VM, module string) (string, error) {
		switch module {
		case name:
			return code + "\nimport " + strconv.Quote(barrier) + ";", nil // at the end, so that line numbers do not change
		case barrier:
			return "await new Promise((open) => { globalThis.__open = open; });", nil
		}
		return "", fmt.Errorf("the module %q is not part of the bundle", module)
	}, nil)
	promise, err := t.vm.EvalValue(`import(`+strconv.Quote(name)+`).then(() => "", e => {
		__reported(e);
		return JSON.stringify({name: e?.name, message: e == null ? "" : String(e.message ?? e), stack: String(e?.stack ?? "")});
	})`, 0)
	if err != nil {
		return err
	}
	then, err := promise.Then(func(v quickjs.Value) {
		text, _ := v.Any()
		if failure, _ := text.(string); failure != "" {
			done <- ParseError([]byte(failure))
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

// Call implements Thread.
func (t *thread) Call(id int64, fn int, stream bool, params, about string) {
	t.enqueue(job{invocation: invocation{id, fn, stream, params, about}})
}

// invocation is a call of a function of the code.
type invocation struct {
	id            int64
	fn            int
	stream        bool
	params, about string
}

func (t *thread) invoke(i invocation) error {
	if t.entry == nil {
		return nil // loading has failed
	}
	if t.answers.prepare(i) {
		_, err := t.entry.next.Call(t.entry.call)
		return unusable(err)
	}
	_, err := t.entry.call.Call(quickjs.UndefinedValue, i.id, i.fn, i.stream, i.params, i.about)
	return unusable(err)
}

// Deliver implements Thread.
func (t *thread) Deliver(text string) {
	t.post(func() error {
		if t.entry == nil {
			return nil
		}
		_, err := t.entry.deliver.Call(quickjs.UndefinedValue, text)
		return unusable(err)
	})
}

// job is run by the goroutine of the thread.
type job struct {
	run        func() error // nil for an invocation
	invocation invocation
	loading    bool
}

// post queues a job, unless the thread has ended. It never blocks, and functions
// may call it.
func (t *thread) post(run func() error) { t.enqueue(job{run: run}) }

func (t *thread) enqueue(j job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.jobs = append(t.jobs, j)
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *thread) loop() {
	defer close(t.gone)
	defer func() { _ = t.heap.close(t.vm) }()
	debug.SetPanicOnFault(true) // see kill
	for range t.wake {
		for {
			t.mu.Lock()
			jobs := t.jobs
			t.jobs, t.spare, t.busy = t.spare, nil, len(jobs) > 0
			t.mu.Unlock()
			if len(jobs) == 0 {
				break
			}
			for _, j := range jobs {
				if err := t.turn(j); err != nil {
					t.End(err)
					return
				}
				if t.ended() {
					return
				}
			}
			if cap(jobs) <= maxSpare {
				clear(jobs)
				t.mu.Lock()
				t.spare = jobs[:0]
				t.mu.Unlock()
			}
		}
	}
}

// maxSpare is how many jobs memory is kept for.
const maxSpare = 64

// turn runs one job and the microtasks that follow from it. An error means that
// the thread cannot continue.
func (t *thread) turn(j job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the JavaScript engine crashed: %v", v)
		}
	}()
	limit := t.limits.Turn
	if j.loading {
		limit = compileLimit
	}
	t.watchdog.start(limit)
	defer t.watchdog.stop()
	if j.run != nil {
		err = j.run()
	} else {
		err = t.invoke(j.invocation)
	}
	if cause := t.Fatal(err); cause != nil {
		return cause
	}
	// An interrupt stops only the code that runs at that moment, so it is checked here too.
	for t.fields.pending() && !t.ended() && !t.watchdog.expired() {
		// One call runs many microtasks, but not all of an endless chain.
		n, err := t.vm.ExecutePendingJobs()
		if cause := t.Fatal(err); cause != nil {
			return cause
		}
		// Other errors are those of one microtask, and have reached the code that
		// awaits its promise.
		if n < maxMicrotasks {
			break
		}
	}
	if t.watchdog.expired() {
		return t.runaway()
	}
	return nil
}

// maxMicrotasks is how many microtasks one call of ExecutePendingJobs runs, at most.
const maxMicrotasks = 1 << 20

// Idle implements Thread.
func (t *thread) Idle() bool {
	return t.clock.none(func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return !t.busy && len(t.jobs) == 0
	})
}

func (t *thread) ended() bool {
	select {
	case <-t.dead:
		return true
	default:
		return false
	}
}
