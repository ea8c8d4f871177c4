package script

import (
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"
)

// interruptAll has an engine that was interrupted interrupt whatever runs next,
// too. The engine looks only now and then whether it is to stop, and an
// asynchronous function takes the interruption of its code for an error like any
// other. In a loop around such a function the next look falls into the function
// again, and the loop goes on for ever.
func interruptAll(vm *quickjs.VM) error {
	address, err := runtimeOf(vm)
	if err != nil {
		return err
	}
	runtime := (*lib.TJSRuntime)(unsafe.Add(nil, address))
	saveLook.Do(func() { look = *(*lookFunc)(unsafe.Pointer(&struct{ uintptr }{runtime.Finterrupt_handler})) }) //nolint:gosec // as the engine calls it
	tls := libc.NewTLS()
	defer tls.Close()
	hook := *(*uintptr)(unsafe.Pointer(&interruptHook)) //nolint:gosec // the hook is a variable of the package, and stays where it is
	lib.XJS_SetInterruptHandler(tls, address, hook, runtime.Finterrupt_opaque)
	return nil
}

type lookFunc = func(tls *libc.TLS, runtime, opaque uintptr) int32

var (
	look     lookFunc // of the engine's package, which knows the time and who wants it to stop
	saveLook sync.Once

	interruptHook = interrupted
)

// interrupted is called by the engine when it looks whether it is to stop.
func interrupted(tls *libc.TLS, runtime, opaque uintptr) int32 {
	stop := look(tls, runtime, opaque)
	if stop != 0 {
		contexts := &(*lib.TJSRuntime)(unsafe.Add(nil, runtime)).Fcontext_list
		for link := contexts.Fnext; link != uintptr(unsafe.Pointer(contexts)); link = (*lib.Tlist_head)(unsafe.Add(nil, link)).Fnext { //nolint:gosec // a list of the engine's
			context := (*lib.TJSContext)(unsafe.Add(nil, link-unsafe.Offsetof(lib.TJSContext{}.Flink)))
			context.Finterrupt_counter = 1 // it looks at the next occasion
		}
	}
	return stop
}
