package engine

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"

	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// newVM replaces the engine's runtime and its context, and nothing else of what
// a VM has may refer to them. If this fails after an update of the package, read
// what NewVM and VM.Close do now, and then correct newVM, vmHeap.close and
// the list.
func TestVMFields(t *testing.T) {
	t.Parallel()
	vm := reflect.TypeFor[quickjs.VM]()
	var got strings.Builder
	var list func(of reflect.Type)
	list = func(of reflect.Type) {
		for f := range of.Fields() {
			name := f.Type.String()
			if f.Type == reflect.TypeFor[lib.TJSValue]() {
				name = "JSValue" // which is another struct on each system
			}
			got.WriteString(of.Name() + "." + f.Name + " " + name + "\n")
			if f.Type.Kind() == reflect.Struct && f.Anonymous {
				list(f.Type)
			}
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().PkgPath() == vm.PkgPath() {
				list(f.Type.Elem())
			}
		}
	}
	list(vm)
	const want = `VM.intr *quickjs.interrupter
interrupter.mu sync.Mutex
interrupter.data uintptr
VM.state quickjs.state
state.cContext uintptr
state.goFuncs map[string]int32
state.int32_16 JSValue
state.int32_2 JSValue
state.runtime *quickjs.runtime
runtime.cRuntime uintptr
runtime.tls *libc.TLS
runtime.callbackClassInit bool
state.timeout time.Duration
state.interruptData uintptr
state.toStringArgv uintptr
state.depth int
state.panicked interface {}
state.frame uintptr
state.abandoned bool
state.wtf8 bool
`
	if got.String() != want {
		t.Errorf("a VM has other fields than are known:\n%s", got.String())
	}
}

// All that an engine allocates is in its heap, is counted, and is limited.
func TestHeapOfAVM(t *testing.T) {
	t.Parallel()
	vm, heap, err := newVM(32 << 20)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fieldsOf(vm)
	if err != nil {
		t.Fatal(err)
	}
	usage := func() (used, counted, limit int64) {
		const size = int(unsafe.Sizeof(lib.TJSMemoryUsage{}))
		at := (*f.tls).Alloc(size)
		defer (*f.tls).Free(size)
		lib.XJS_ComputeMemoryUsage(*f.tls, *f.runtime, at)
		u := (*lib.TJSMemoryUsage)(unsafe.Add(nil, at))
		return heap.arena.Used(), u.Fmalloc_size, u.Fmalloc_limit
	}
	before, counted, limit := usage()
	if before < 100<<10 || before-counted < 0 || before-counted > 4<<10 || limit != 32<<20 { // the runtime is not counted
		t.Errorf("a new engine has %d bytes, of which it knows %d of %d", before, counted, limit)
	}
	if _, err := vm.Eval(`globalThis.held = []; for (let i = 0; i < 8; i++) held.push(new Uint8Array(1 << 20), "x".repeat(600 + i), {i});`, quickjs.EvalGlobal); err != nil {
		t.Fatal(err)
	}
	during, counted, _ := usage()
	if during-before < 8<<20 || during-before > 9<<20 || during-counted > 4<<10 {
		t.Errorf("8 MB are %d bytes, and %d counted", during-before, counted)
	}
	if _, err := vm.Eval(`held.push(new Uint8Array(28 << 20))`, quickjs.EvalGlobal); !isInternal(err, "out of memory") {
		t.Errorf("there is too much memory: %v", err)
	}
	if got, err := vm.Eval(`held.length`, quickjs.EvalGlobal); err != nil || got != 24 {
		t.Errorf("it has %v, %v", got, err)
	}
	if err := heap.close(vm); err != nil {
		t.Error(err)
	}
}

// An engine that comes to a good end has freed everything itself.
func TestHealthyEngineFreesAll(t *testing.T) {
	t.Parallel()
	engine := start(t, generous, `async () => [await null, "done"]`)
	if got, err := engine.Call(t.Context(), Call{}); err != nil || string(got.Value) != `[null,"done"]` {
		t.Fatalf("the function returns %s, %v", got.Value, err)
	}
	e := threadOf(engine)
	left := make(chan int64, 1)
	e.post(func() error {
		e.End(ErrClosed)
		f, err := fieldsOf(e.vm)
		if err != nil {
			return err
		}
		e.entry.call.Free()
		e.entry.deliver.Free()
		e.entry.next.Free()
		lib.XJS_FreeContext(*f.tls, *f.context)
		lib.XJS_FreeRuntime(*f.tls, *f.runtime)
		left <- e.heap.arena.Used()
		return nil
	})
	<-e.gone
	if n := <-left; n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}
