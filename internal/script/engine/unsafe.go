package engine

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"

	"github.com/parley-run/parley/internal/script/engine/arena"
)

// This file and unsafe_answer.go contain all code that accesses QuickJS by other
// means than the API of its package. TestVMFields fails if a new version of that
// package may need other code here.

// vmHeap is the memory of one QuickJS runtime. Everything that the runtime
// allocates is in an arena, and is freed with it.
type vmHeap struct {
	arena *arena.Arena

	// The runtime has the addresses of these.
	malloc  func(tls *libc.TLS, state uintptr, size lib.Tsize_t) uintptr
	free    func(tls *libc.TLS, state, p uintptr)
	realloc func(tls *libc.TLS, state, p uintptr, size lib.Tsize_t) uintptr
	usable  func(tls *libc.TLS, p uintptr) lib.Tsize_t
}

// addresses is the size of the range of addresses, as a multiple of the memory
// limit. An array that grows exists twice for a moment, and free memory is
// fragmented.
const addresses = 4

func newHeap(limit int64) (*vmHeap, error) {
	a, err := arena.New(addresses * max(limit, 16<<20))
	if err != nil {
		return nil, err
	}
	// These functions have to count and limit the memory of the runtime.
	h := &vmHeap{arena: a}
	h.malloc = func(_ *libc.TLS, state uintptr, size lib.Tsize_t) uintptr {
		s := (*lib.TJSMallocState)(unsafe.Add(nil, state))
		if s.Fmalloc_size+size > s.Fmalloc_limit {
			return 0
		}
		p := a.Malloc(uintptr(size))
		if p != 0 {
			s.Fmalloc_count++
			s.Fmalloc_size += lib.Tsize_t(a.Size(p)) + arena.Overhead
		}
		return p
	}
	h.free = func(_ *libc.TLS, state, p uintptr) {
		if p == 0 {
			return
		}
		s := (*lib.TJSMallocState)(unsafe.Add(nil, state))
		s.Fmalloc_count--
		s.Fmalloc_size -= lib.Tsize_t(a.Size(p)) + arena.Overhead
		a.Free(p)
	}
	h.realloc = func(tls *libc.TLS, state, p uintptr, size lib.Tsize_t) uintptr {
		switch {
		case p == 0 && size == 0:
			return 0
		case p == 0:
			return h.malloc(tls, state, size)
		case size == 0:
			h.free(tls, state, p)
			return 0
		}
		s := (*lib.TJSMallocState)(unsafe.Add(nil, state))
		was := lib.Tsize_t(a.Size(p))
		if size > was && s.Fmalloc_size+size-was > s.Fmalloc_limit {
			return 0
		}
		if p = a.Realloc(p, uintptr(size)); p != 0 {
			s.Fmalloc_size += lib.Tsize_t(a.Size(p)) - was
		}
		return p
	}
	h.usable = func(_ *libc.TLS, p uintptr) lib.Tsize_t {
		if p == 0 {
			return 0
		}
		return lib.Tsize_t(a.Size(p))
	}
	return h, nil
}

// newRuntime makes a QuickJS runtime in the heap; 0 if there is no memory.
func (h *vmHeap) newRuntime(tls *libc.TLS) uintptr {
	const size = int(unsafe.Sizeof(lib.TJSMallocFunctions{}))
	functions := tls.Alloc(size) // the runtime copies it, and must not get memory of Go
	defer tls.Free(size)
	// The transpiled code represents functions as Go does, by the address of their
	// address.
	*(*lib.TJSMallocFunctions)(unsafe.Add(nil, functions)) = lib.TJSMallocFunctions{
		Fjs_malloc:             *(*uintptr)(unsafe.Pointer(&h.malloc)),  //nolint:gosec // the heap has it as long as the runtime exists
		Fjs_free:               *(*uintptr)(unsafe.Pointer(&h.free)),    //nolint:gosec // as above
		Fjs_realloc:            *(*uintptr)(unsafe.Pointer(&h.realloc)), //nolint:gosec // as above
		Fjs_malloc_usable_size: *(*uintptr)(unsafe.Pointer(&h.usable)),  //nolint:gosec // as above
	}
	return lib.XJS_NewRuntime2(tls, functions, 0)
}

// fields are the fields of a VM that newVM replaces.
type fields struct {
	runtime, context *uintptr
	tls              **libc.TLS
	abandoned        *bool
}

func fieldsOf(vm *quickjs.VM) (f fields, err error) {
	v := reflect.ValueOf(vm).Elem()
	runtime := v.FieldByName("runtime")
	if runtime.Kind() != reflect.Pointer || runtime.Type().Elem().Kind() != reflect.Struct {
		return f, errLayout
	}
	ok := fieldOf(runtime.Elem(), "cRuntime", &f.runtime) && fieldOf(runtime.Elem(), "tls", &f.tls) &&
		fieldOf(v, "cContext", &f.context) && fieldOf(v, "abandoned", &f.abandoned)
	if !ok {
		return f, errLayout
	}
	return f, nil
}

// pending reports whether a microtask waits. The package can only run them, which costs
// more where there is none (BenchmarkTurn).
func (f fields) pending() bool { return lib.XJS_IsJobPending(*f.tls, *f.runtime) != 0 }

func fieldOf[T any](v reflect.Value, name string, at **T) bool {
	field := v.FieldByName(name)
	if !field.IsValid() || field.Type() != reflect.TypeFor[T]() {
		return false
	}
	*at = (*T)(field.Addr().UnsafePointer())
	return true
}

var errLayout = errors.New("this version of the JavaScript engine is not known")

// newVM makes a VM that has all its memory in a heap of its own. The package can
// only make one with memory of the process: newVM makes another runtime and
// context in the heap, and replaces those of the VM.
func newVM(limit int64) (*quickjs.VM, *vmHeap, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, nil, err
	}
	f, err := fieldsOf(vm)
	if err != nil {
		return nil, nil, errors.Join(err, vm.Close())
	}
	h, err := newHeap(limit)
	if err != nil {
		return nil, nil, errors.Join(err, vm.Close())
	}
	tls := *f.tls
	runtime := h.newRuntime(tls)
	context := uintptr(0)
	if runtime != 0 {
		context = lib.XJS_NewContext(tls, runtime)
	}
	if context == 0 {
		return nil, nil, errors.Join(errors.New("there is no memory for it"), vm.Close(), h.arena.Close())
	}
	was := (*lib.TJSRuntime)(unsafe.Add(nil, *f.runtime))
	lib.XJS_SetInterruptHandler(tls, runtime, was.Finterrupt_handler, was.Finterrupt_opaque)
	lib.XJS_SetMaxStackSize(tls, runtime, was.Fstack_size)
	lib.XJS_SetMemoryLimit(tls, runtime, lib.Tsize_t(limit))
	lib.XJS_SetHostPromiseRejectionTracker(tls, runtime, *(*uintptr)(unsafe.Pointer(&rejectionHook)), 0) //nolint:gosec // a variable of the package stays where it is
	lib.XJS_FreeContext(tls, *f.context)
	lib.XJS_FreeRuntime(tls, *f.runtime)
	*f.runtime, *f.context = runtime, context
	hookStacks(runtime)
	return vm, h, nil
}

// close frees the memory of a VM that does not run any more, wherever it was
// stopped.
func (h *vmHeap) close(vm *quickjs.VM) error {
	f, err := fieldsOf(vm)
	if err != nil {
		return err // it would not have been made
	}
	// A VM that was abandoned frees what it has in Go, and does not access its
	// objects: the heap may have been revoked.
	*f.abandoned = true
	if err := errors.Join(vm.Close(), h.arena.Close()); err != nil {
		return fmt.Errorf("free the memory of an engine: %w", err)
	}
	return nil
}

// revoke frees the memory of a VM that is running. Its next access is a fault: a
// panic of the goroutine, which must have called debug.SetPanicOnFault.
func (h *vmHeap) revoke() error { return h.arena.Revoke() }

var (
	rejectionHook = rejected
	rejectedName  = [...]byte{'_', '_', 'r', 'e', 'j', 'e', 'c', 't', 'e', 'd', 0}
)

// rejected is called by QuickJS when a promise without a handler is rejected, and
// again when it gets a handler. It calls __rejected of js/guest.js with the
// promise, the reason, and whether there is a handler, and ignores errors.
//
// The package does not offer this hook.
func rejected(tls *libc.TLS, ctx uintptr, promise, reason lib.TJSValue, handled int32, _ uintptr) {
	const size = unsafe.Sizeof(promise)
	argv := tls.Alloc(int(3 * size))
	defer tls.Free(int(3 * size))
	for i, arg := range []lib.TJSValue{promise, reason, lib.XNewInt32(tls, ctx, handled)} {
		*(*lib.TJSValue)(unsafe.Add(nil, argv+uintptr(i)*size)) = arg
	}
	global := lib.XJS_GetGlobalObject(tls, ctx)
	hook := lib.XJS_GetPropertyStr(tls, ctx, global, uintptr(unsafe.Pointer(&rejectedName))) //nolint:gosec // see above
	result := lib.XJS_Call(tls, ctx, hook, global, 3, argv)
	for _, v := range []lib.TJSValue{result, hook, global} {
		lib.XFreeValue(tls, ctx, v)
	}
	if lib.XJS_HasException(tls, ctx) != 0 {
		lib.XFreeValue(tls, ctx, lib.XJS_GetException(tls, ctx))
		lib.XJS_SetUncatchableException(tls, ctx, 0) // the next check interrupts again
	}
}

// QuickJS stores the calls that lead to an error as the property "stack", without
// the first line that Node.js has, and offers no hook for it. Errors therefore are
// objects with a method of their own to define properties, which makes an accessor
// of "stack". It asks js/prelude/polyfill.js for the text when the code reads it,
// as the name and the message are then, so that an error that is not shown costs
// little.

// These are the flags of the property that QuickJS stores, and of the accessor.
const (
	hasFlags      = lib.MJS_PROP_CONFIGURABLE | lib.MJS_PROP_HAS_CONFIGURABLE | lib.MJS_PROP_HAS_ENUMERABLE
	storedFlags   = hasFlags | lib.MJS_PROP_WRITABLE | lib.MJS_PROP_HAS_WRITABLE | lib.MJS_PROP_HAS_VALUE
	accessorFlags = hasFlags | lib.MJS_PROP_HAS_GET | lib.MJS_PROP_HAS_SET
)

var (
	defineErrorHook = defineErrorProperty
	stackHook       = errorStack
	stackName       = [...]byte{'_', '_', 's', 't', 'a', 'c', 'k', 0}
	errorMethods    = lib.TJSClassExoticMethods{Fdefine_own_property: *(*uintptr)(unsafe.Pointer(&defineErrorHook))} //nolint:gosec // a variable of the package stays where it is
)

// hookStacks makes accessors of the stacks of errors in a runtime.
func hookStacks(runtime uintptr) {
	classes := (*lib.TJSRuntime)(unsafe.Add(nil, runtime)).Fclass_array
	class := (*lib.TJSClass)(unsafe.Add(nil, classes+lib.EJS_CLASS_ERROR*unsafe.Sizeof(lib.TJSClass{})))
	class.Fexotic = uintptr(unsafe.Pointer(&errorMethods)) //nolint:gosec // as above
}

// defineErrorProperty is called when an error gets a property that it does not have.
// QuickJS defines "stack" before any code sees the error.
func defineErrorProperty(tls *libc.TLS, ctx uintptr, object lib.TJSValue, name lib.TJSAtom, value, getter, setter lib.TJSValue, flags int32) int32 {
	if name == lib.EJS_ATOM_stack && flags == storedFlags {
		const size = int(unsafe.Sizeof(value))
		data := tls.Alloc(size)
		defer tls.Free(size)
		*(*lib.TJSValue)(unsafe.Add(nil, data)) = value
		accessor := lib.XJS_NewCFunctionData(tls, ctx, *(*uintptr)(unsafe.Pointer(&stackHook)), 0, 0, 1, data) //nolint:gosec // as above
		// If there is no memory for it, the code gets what is stored.
		if lib.XJS_IsFunction(tls, ctx, accessor) != 0 {
			defer lib.XFreeValue(tls, ctx, accessor)
			getter, setter, flags = accessor, accessor, accessorFlags
		}
	}
	return lib.XJS_DefineProperty(tls, ctx, object, name, value, getter, setter, flags|lib.MJS_PROP_NO_EXOTIC)
}

// errorStack is the accessor of the stack of an error; data has what QuickJS has
// stored. With an argument it replaces itself by that.
func errorStack(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr, _ int32, data uintptr) lib.TJSValue {
	raw := *(*lib.TJSValue)(unsafe.Add(nil, data))
	if argc > 0 {
		value := lib.XDupValue(tls, ctx, *(*lib.TJSValue)(unsafe.Add(nil, argv)))
		if lib.XJS_DefinePropertyValue(tls, ctx, this, lib.EJS_ATOM_stack, value, lib.MJS_PROP_CONFIGURABLE|lib.MJS_PROP_WRITABLE|lib.MJS_PROP_THROW) < 0 {
			return lib.XJS_Throw(tls, ctx, lib.XJS_GetException(tls, ctx))
		}
		return lib.XDupValue(tls, ctx, raw) // which is ignored
	}
	global := lib.XJS_GetGlobalObject(tls, ctx)
	defer lib.XFreeValue(tls, ctx, global)
	text := lib.XJS_GetPropertyStr(tls, ctx, global, uintptr(unsafe.Pointer(&stackName))) //nolint:gosec // as above
	defer lib.XFreeValue(tls, ctx, text)
	if lib.XJS_IsFunction(tls, ctx, text) == 0 { // the library is not loaded
		return lib.XDupValue(tls, ctx, raw)
	}
	const size = unsafe.Sizeof(this)
	args := tls.Alloc(int(2 * size))
	defer tls.Free(int(2 * size))
	*(*lib.TJSValue)(unsafe.Add(nil, args)) = this
	*(*lib.TJSValue)(unsafe.Add(nil, args+size)) = raw
	return lib.XJS_Call(tls, ctx, text, global, 2, args)
}
