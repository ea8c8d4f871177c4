//go:build !386 && !arm

package engine

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
	"modernc.org/quickjs"

	"github.com/parley-run/parley/internal/wire"
)

// Most calls have small texts as parameters, and most answers of functions are small objects
// of texts and numbers. For these, there are functions that do not pass through the package's
// conversion of values, and do not make JSON text of answers in the engine first: that was
// a third of what a call of a tool costs (BenchmarkTurn).

// nativeFunction is a function of Go as QuickJS calls it.
type nativeFunction func(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue

// answers are the functions of one engine. QuickJS has their addresses.
type answers struct {
	settled, send, next nativeFunction

	coming   invocation // for next
	prepared bool       // coming is set
	text     []byte     // memory for the next answer
}

// newAnswers makes __settled, __send and __next.
func newAnswers(vm *quickjs.VM, post Post) (*answers, error) {
	f, err := fieldsOf(vm)
	if err != nil {
		return nil, err
	}
	tls, ctx := *f.tls, *f.context
	a := &answers{settled: settled}
	a.next = a.invoke
	object, array := prototype(tls, ctx, lib.EJS_CLASS_OBJECT), prototype(tls, ctx, lib.EJS_CLASS_ARRAY)
	a.send = func(tls *libc.TLS, ctx uintptr, _ lib.TJSValue, _ int32, argv uintptr) lib.TJSValue {
		const size = int(unsafe.Sizeof(scratch{}))
		at := tls.Alloc(size)
		defer tls.Free(size)
		w := writer{tls: tls, ctx: ctx, scratch: at, object: object, array: array, out: a.text[:0], left: maxPlainValues}
		defer func() { a.text = w.out[:0] }() // which maxPlainSize bounds
		sent := int32(0)
		if id, ok := intOf(argument(argv, 0)); ok && w.document(argument(argv, 1)) && post("ok", id, string(w.out), "") == nil {
			sent = 1
		}
		return lib.XNewInt32(tls, ctx, sent)
	}
	global := lib.XJS_GetGlobalObject(tls, ctx)
	defer lib.XFreeValue(tls, ctx, global)
	for _, one := range []struct {
		name *byte
		fn   *nativeFunction
	}{{&settledName[0], &a.settled}, {&sendName[0], &a.send}, {&nextName[0], &a.next}} {
		name := uintptr(unsafe.Pointer(one.name))                                                                                   //nolint:gosec // a variable of the package stays where it is
		fn := lib.XJS_NewCFunction2(tls, ctx, *(*uintptr)(unsafe.Pointer(one.fn)), name, nativeArguments, lib.EJS_CFUNC_generic, 0) //nolint:gosec // the thread has it as long as the runtime exists
		lib.XJS_SetPropertyStr(tls, ctx, global, name, fn)
	}
	return a, nil
}

// nativeArguments is how many arguments the functions have. QuickJS adds those that
// are missing.
const nativeArguments = 2

var (
	settledName = [...]byte{'_', '_', 's', 'e', 't', 't', 'l', 'e', 'd', 0}
	sendName    = [...]byte{'_', '_', 's', 'e', 'n', 'd', 0}
	nextName    = [...]byte{'_', '_', 'n', 'e', 'x', 't', 0}
)

// maxPlainText is how long texts are which are passed without the package: in the memory
// for local variables of the transpiled code, which must not get memory of Go.
const maxPlainText = 4 << 10

// prepare gives __next its parameters. It returns false if the package has to convert them.
func (a *answers) prepare(i invocation) bool {
	a.prepared = i.id <= math.MaxInt32 && i.fn <= math.MaxInt32 && plainText(i.params) && plainText(i.about)
	if a.prepared {
		a.coming = i
	}
	return a.prepared
}

func plainText(s string) bool { return len(s) <= maxPlainText && utf8.ValidString(s) }

// invoke is __next: it calls the function that is its object with the parameters of
// prepare, as __call of js/guest.js takes them.
func (a *answers) invoke(tls *libc.TLS, ctx uintptr, fn lib.TJSValue, _ int32, _ uintptr) lib.TJSValue {
	none := lib.TJSValue{Ftag: lib.EJS_TAG_UNDEFINED}
	if !a.prepared {
		return none
	}
	i := a.coming
	a.coming, a.prepared = invocation{}, false
	stream := lib.XNewInt32(tls, ctx, 0)
	if i.stream {
		stream = lib.XNewInt32(tls, ctx, 1)
	}
	stream.Ftag = lib.EJS_TAG_BOOL
	params, about := newText(tls, ctx, i.params), newText(tls, ctx, i.about)
	defer lib.XFreeValue(tls, ctx, params)
	defer lib.XFreeValue(tls, ctx, about)
	if params.Ftag == lib.EJS_TAG_EXCEPTION || about.Ftag == lib.EJS_TAG_EXCEPTION {
		return lib.TJSValue{Ftag: lib.EJS_TAG_EXCEPTION} // there is no memory
	}
	const size = int(unsafe.Sizeof([5]lib.TJSValue{}))
	argv := tls.Alloc(size)
	defer tls.Free(size)
	*(*[5]lib.TJSValue)(unsafe.Add(nil, argv)) = [5]lib.TJSValue{lib.XNewInt32(tls, ctx, int32(i.id)), lib.XNewInt32(tls, ctx, int32(i.fn)), stream, params, about}
	return lib.XJS_Call(tls, ctx, fn, none, 5, argv)
}

// newText makes a text of QuickJS.
func newText(tls *libc.TLS, ctx uintptr, s string) lib.TJSValue {
	size := max(len(s), 1)
	at := tls.Alloc(size)
	defer tls.Free(size)
	copy(unsafe.Slice((*byte)(unsafe.Add(nil, at)), len(s)), s) //nolint:gosec // the memory has that size
	return lib.XJS_NewStringLen(tls, ctx, at, lib.Tsize_t(len(s)))
}

// settled is __settled(promise, otherwise): the value of a promise that is fulfilled
// while no microtask waits, and otherwise the other argument. What is then called
// with the value would run next.
func settled(tls *libc.TLS, ctx uintptr, _ lib.TJSValue, _ int32, argv uintptr) lib.TJSValue {
	promise := argument(argv, 0)
	if lib.XJS_PromiseState(tls, ctx, promise) == lib.EJS_PROMISE_FULFILLED && lib.XJS_IsJobPending(tls, lib.XJS_GetRuntime(tls, ctx)) == 0 {
		return lib.XJS_PromiseResult(tls, ctx, promise)
	}
	return lib.XDupValue(tls, ctx, argument(argv, 1))
}

func argument(argv uintptr, i uintptr) lib.TJSValue {
	return *(*lib.TJSValue)(unsafe.Add(nil, argv+i*unsafe.Sizeof(lib.TJSValue{})))
}

// prototype returns the address of a prototype, which lives as long as the context.
func prototype(tls *libc.TLS, ctx uintptr, class lib.TJSClassID) uintptr {
	v := lib.XJS_GetClassProto(tls, ctx, class)
	defer lib.XFreeValue(tls, ctx, v)
	return uintptr(v.Fu.Fuint641)
}

func intOf(v lib.TJSValue) (int64, bool) {
	switch int32(v.Ftag) {
	case lib.EJS_TAG_INT:
		return int64(int32(v.Fu.Fuint641)), true
	case lib.EJS_TAG_FLOAT64:
		return int64(math.Float64frombits(v.Fu.Fuint641)), true
	}
	return 0, false
}

// scratch is memory that QuickJS writes its results to.
type scratch struct {
	text     lib.Tsize_t
	names    uintptr
	count    uint32
	property lib.TJSPropertyDescriptor
}

// writer writes the JSON of a value, as JSON.stringify does, if it is plain: texts,
// numbers, booleans, null, and arrays and objects of plain values. No code of the
// application runs in the meantime. It gives up where that cannot be said, for values that
// are large, and for those that may not end.
type writer struct {
	tls           *libc.TLS
	ctx           uintptr
	scratch       uintptr
	object, array uintptr // prototypes
	out           []byte
	left          int // values
}

// The limits of plain values. Larger ones are left to JSON.stringify, whose text
// counts as memory of the engine.
const (
	maxPlainValues = 1000
	maxPlainDepth  = 20
	maxPlainSize   = 64 << 10
)

func (w *writer) at() *scratch { return (*scratch)(unsafe.Add(nil, w.scratch)) }

// document writes a whole value. Nothing is null.
func (w *writer) document(v lib.TJSValue) bool {
	if int32(v.Ftag) == lib.EJS_TAG_UNDEFINED {
		w.out = append(w.out, "null"...)
		return true
	}
	return w.value(v, 0)
}

func (w *writer) value(v lib.TJSValue, depth int) bool {
	if w.left--; w.left < 0 || depth > maxPlainDepth {
		return false
	}
	switch int32(v.Ftag) {
	case lib.EJS_TAG_NULL:
		w.out = append(w.out, "null"...)
	case lib.EJS_TAG_BOOL:
		w.out = strconv.AppendBool(w.out, int32(v.Fu.Fuint641) != 0)
	case lib.EJS_TAG_INT:
		w.out = strconv.AppendInt(w.out, int64(int32(v.Fu.Fuint641)), 10)
	case lib.EJS_TAG_FLOAT64:
		if f := math.Float64frombits(v.Fu.Fuint641); math.IsNaN(f) || math.IsInf(f, 0) {
			w.out = append(w.out, "null"...)
			return true
		}
		return w.text(lib.XJS_ToCStringLen2(w.tls, w.ctx, w.scratch, v, 0), false)
	case lib.EJS_TAG_STRING, lib.EJS_TAG_STRING_ROPE:
		return w.text(lib.XJS_ToCStringLen2(w.tls, w.ctx, w.scratch, v, 0), true)
	case lib.EJS_TAG_OBJECT:
		return w.members(v, depth)
	default:
		return false
	}
	return true
}

// text writes what QuickJS has made of a value or a name, and frees it.
func (w *writer) text(at uintptr, quoted bool) bool {
	if at == 0 {
		return w.failed()
	}
	defer lib.XJS_FreeCString(w.tls, w.ctx, at)
	text := unsafe.Slice((*byte)(unsafe.Add(nil, at)), w.at().text) //nolint:gosec // the length is QuickJS's
	if len(w.out)+len(text) > maxPlainSize {
		return false
	}
	if !quoted {
		w.out = append(w.out, text...)
		return true
	}
	if bytes.IndexByte(text, firstOfSurrogates) >= 0 {
		return false // it may have half of a pair, which is not UTF-8
	}
	w.out = wire.Quote(w.out, unsafe.String(unsafe.SliceData(text), len(text))) //nolint:gosec // Quote copies it
	return true
}

// firstOfSurrogates is the first byte of half of a pair of surrogates; see
// VM.fromJS.
const firstOfSurrogates = 0xed

// failed forgets an exception, for which there was no memory for example.
func (w *writer) failed() bool {
	lib.XFreeValue(w.tls, w.ctx, lib.XJS_GetException(w.tls, w.ctx))
	return false
}

// members writes an array or an object.
func (w *writer) members(v lib.TJSValue, depth int) bool {
	object := (*lib.TJSObject)(unsafe.Add(nil, uintptr(v.Fu.Fuint641)))
	proto := (*lib.TJSShape)(unsafe.Add(nil, object.Fshape)).Fproto
	isArray := object.Fclass_id == lib.EJS_CLASS_ARRAY
	if isArray {
		if proto != w.array {
			return false
		}
	} else if object.Fclass_id != lib.EJS_CLASS_OBJECT || proto != w.object {
		return false
	}
	if has := lib.XJS_HasProperty(w.tls, w.ctx, v, lib.EJS_ATOM_toJSON); has < 0 {
		return w.failed() // a proxy behind the prototype of all objects has thrown
	} else if has > 0 {
		return false
	}
	length := int64(-1)
	if isArray {
		value, ok := w.own(v, lib.EJS_ATOM_length)
		if !ok {
			return false
		}
		length, ok = intOf(value)
		lib.XFreeValue(w.tls, w.ctx, value)
		if !ok || length > int64(w.left) { // before a list of all elements is made
			return false
		}
	}
	const which = lib.MJS_GPN_STRING_MASK | lib.MJS_GPN_ENUM_ONLY
	if lib.XJS_GetOwnPropertyNames(w.tls, w.ctx, w.scratch+unsafe.Offsetof(scratch{}.names), w.scratch+unsafe.Offsetof(scratch{}.count), v, which) != 0 {
		return w.failed()
	}
	names, count := w.at().names, w.at().count
	defer lib.XJS_FreePropertyEnum(w.tls, w.ctx, names, count)
	var list []lib.TJSPropertyEnum
	if count > 0 { // there may be no list otherwise
		list = unsafe.Slice((*lib.TJSPropertyEnum)(unsafe.Add(nil, names)), count) //nolint:gosec // the length is QuickJS's
	}
	if isArray {
		return length == int64(count) && w.elements(v, list, depth)
	}
	return w.properties(v, list, depth)
}

// indexed is set in the names of elements, which are their indices.
const indexed = 1 << 31

func (w *writer) elements(v lib.TJSValue, list []lib.TJSPropertyEnum, depth int) bool {
	w.out = append(w.out, '[')
	for i, one := range list {
		if one.Fatom != uint32(i)|indexed {
			return false // an element is missing
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		value, ok := w.own(v, one.Fatom)
		if !ok {
			return false
		}
		if int32(value.Ftag) == lib.EJS_TAG_UNDEFINED {
			w.out = append(w.out, "null"...)
			continue
		}
		ok = w.value(value, depth+1)
		lib.XFreeValue(w.tls, w.ctx, value)
		if !ok {
			return false
		}
	}
	w.out = append(w.out, ']')
	return true
}

func (w *writer) properties(v lib.TJSValue, list []lib.TJSPropertyEnum, depth int) bool {
	w.out = append(w.out, '{')
	first := true
	for _, one := range list {
		value, ok := w.own(v, one.Fatom)
		if !ok {
			return false
		}
		if int32(value.Ftag) == lib.EJS_TAG_UNDEFINED {
			continue
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		ok = w.text(lib.XJS_AtomToCStringLen(w.tls, w.ctx, w.scratch, one.Fatom), true)
		if ok {
			w.out = append(w.out, ':')
			ok = w.value(value, depth+1)
		}
		lib.XFreeValue(w.tls, w.ctx, value)
		if !ok {
			return false
		}
	}
	w.out = append(w.out, '}')
	return true
}

// own returns the value of a property, unless it is an accessor. The caller frees it.
func (w *writer) own(v lib.TJSValue, name lib.TJSAtom) (lib.TJSValue, bool) {
	found := lib.XJS_GetOwnProperty(w.tls, w.ctx, w.scratch+unsafe.Offsetof(scratch{}.property), v, name)
	if found < 0 {
		return lib.TJSValue{}, w.failed()
	}
	if found == 0 {
		return lib.TJSValue{}, false
	}
	p := w.at().property
	if p.Fflags&lib.MJS_PROP_GETSET != 0 {
		lib.XFreeValue(w.tls, w.ctx, p.Fgetter)
		lib.XFreeValue(w.tls, w.ctx, p.Fsetter)
		return lib.TJSValue{}, false
	}
	return p.Fvalue, true
}
