package script

import (
	"errors"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// trackRejections has the engine tell the guest of promises that are rejected
// while nobody listens to them, and again when somebody does: __rejected gets
// the promise, the reason, and whether it is the second time.
//
// The engine has a hook for that, but its package has no door to it.
func trackRejections(vm *quickjs.VM) error {
	runtime, err := runtimeOf(vm)
	if err != nil {
		return err
	}
	tls := libc.NewTLS()
	defer tls.Close()
	// The engine knows functions as Go does, by the address of their address.
	hook := *(*uintptr)(unsafe.Pointer(&rejectionHook)) //nolint:gosec // the hook is a variable of the package, and stays where it is
	lib.XJS_SetHostPromiseRejectionTracker(tls, runtime, hook, 0)
	return nil
}

// runtimeOf is the address of the engine's own runtime.
func runtimeOf(vm *quickjs.VM) (uintptr, error) {
	runtime := reflect.ValueOf(vm).Elem().FieldByName("runtime")
	if runtime.Kind() != reflect.Pointer || !runtime.Elem().FieldByName("cRuntime").CanUint() {
		return 0, errors.New("the engine's runtime is not where it was")
	}
	return uintptr(runtime.Elem().FieldByName("cRuntime").Uint()), nil
}

var (
	rejectionHook = rejected
	rejectedName  = [...]byte{'_', '_', 'r', 'e', 'j', 'e', 'c', 't', 'e', 'd', 0}
)

// rejected is called by the engine, where an error would be out of place.
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
