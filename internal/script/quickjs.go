package script

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"

	"github.com/parley-run/parley/internal/script/arena"
)

// This file has everything that reaches into the engine behind the back of its
// package. TestEngineFields fails when a new version of that package may need
// something else.

// engineHeap is the memory of one engine. Everything that the engine allocates is in
// an arena, and is freed with it.
type engineHeap struct {
	arena *arena.Arena

	// The engine has the addresses of these.
	malloc  func(tls *libc.TLS, state uintptr, size lib.Tsize_t) uintptr
	free    func(tls *libc.TLS, state, p uintptr)
	realloc func(tls *libc.TLS, state, p uintptr, size lib.Tsize_t) uintptr
	usable  func(tls *libc.TLS, p uintptr) lib.Tsize_t
}

// addresses is how many times the memory that an engine may use its addresses
// are. An array that grows needs room for its old and its new place, and what is
// free is in pieces.
const addresses = 4

func newHeap(limit int64) (*engineHeap, error) {
	a, err := arena.New(addresses * max(limit, 16<<20))
	if err != nil {
		return nil, err
	}
	// The engine trusts these functions to count its memory and to limit it.
	h := &engineHeap{arena: a}
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

// newRuntime makes the engine's own runtime in the heap; 0 if there is no room.
func (h *engineHeap) newRuntime(tls *libc.TLS) uintptr {
	const size = int(unsafe.Sizeof(lib.TJSMallocFunctions{}))
	functions := tls.Alloc(size) // the engine makes a copy, and must not get memory of Go
	defer tls.Free(size)
	// The engine knows functions as Go does, by the address of their address.
	*(*lib.TJSMallocFunctions)(unsafe.Add(nil, functions)) = lib.TJSMallocFunctions{
		Fjs_malloc:             *(*uintptr)(unsafe.Pointer(&h.malloc)),  //nolint:gosec // the heap has it as long as the engine
		Fjs_free:               *(*uintptr)(unsafe.Pointer(&h.free)),    //nolint:gosec // as above
		Fjs_realloc:            *(*uintptr)(unsafe.Pointer(&h.realloc)), //nolint:gosec // as above
		Fjs_malloc_usable_size: *(*uintptr)(unsafe.Pointer(&h.usable)),  //nolint:gosec // as above
	}
	return lib.XJS_NewRuntime2(tls, functions, 0)
}

// fields are those of an engine's package that are replaced.
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

func fieldOf[T any](v reflect.Value, name string, at **T) bool {
	field := v.FieldByName(name)
	if !field.IsValid() || field.Type() != reflect.TypeFor[T]() {
		return false
	}
	*at = (*T)(field.Addr().UnsafePointer())
	return true
}

var errLayout = errors.New("this version of the JavaScript engine is not known")

// newVM makes an engine that has all its memory in a heap of its own. Its
// package can only make one whose memory is that of the process; what that one
// consists of is made again in the heap, and takes its place.
func newVM(limit int64) (*quickjs.VM, *engineHeap, error) {
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
	return vm, h, nil
}

// close frees the memory of an engine that does not run any more, wherever it
// was stopped.
func (h *engineHeap) close(vm *quickjs.VM) error {
	f, err := fieldsOf(vm)
	if err != nil {
		return err // it would not have been made
	}
	// An engine that was abandoned frees what it has in Go, and does not look at
	// its objects: the heap may have been revoked.
	*f.abandoned = true
	if err := errors.Join(vm.Close(), h.arena.Close()); err != nil {
		return fmt.Errorf("free the memory of an engine: %w", err)
	}
	return nil
}

// revoke frees the memory of an engine that is running. Its next access is a
// fault, a panic of the goroutine that must have called debug.SetPanicOnFault.
func (h *engineHeap) revoke() error { return h.arena.Revoke() }

var (
	rejectionHook = rejected
	rejectedName  = [...]byte{'_', '_', 'r', 'e', 'j', 'e', 'c', 't', 'e', 'd', 0}
)

// rejected is called by the engine when a promise is rejected while nothing
// listens to it, and again when something does. The guest's __rejected gets the
// promise, the reason, and whether it is the second time. An error would be out
// of place here.
//
// The engine's package does not offer this hook.
func rejected(tls *libc.TLS, ctx uintptr, promise, reason lib.TJSValue, handled int32, _ uintptr) {
	const size = unsafe.Sizeof(promise)
	argv := tls.Alloc(int(3 * size))
	defer tls.Free(int(3 * size))
	for i, arg := range []lib.TJSValue{promise, reason, lib.XNewInt32(tls, ctx, handled)} {
		*(*lib.TJSValue)(unsafe.Add(nil, argv+uintptr(i)*size)) = arg
	}
	global := lib.XJS_GetGlobalObject(tls, ctx)
	told := lib.XJS_GetPropertyStr(tls, ctx, global, uintptr(unsafe.Pointer(&rejectedName))) //nolint:gosec // see above
	result := lib.XJS_Call(tls, ctx, told, global, 3, argv)
	for _, v := range []lib.TJSValue{result, told, global} {
		lib.XFreeValue(tls, ctx, v)
	}
	if lib.XJS_HasException(tls, ctx) != 0 {
		lib.XFreeValue(tls, ctx, lib.XJS_GetException(tls, ctx))
		lib.XJS_SetUncatchableException(tls, ctx, 0) // the next look at the clock interrupts again
	}
}
