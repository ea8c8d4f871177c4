package arena

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"
)

// A goroutine that loops over memory that was revoked ends with a panic, and
// the memory is freed.
func TestRevoke(t *testing.T) {
	t.Parallel()
	a, err := New(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	at := a.Malloc(1 << 20)
	began, ended := make(chan struct{}), make(chan any)
	go func() {
		defer func() { ended <- recover() }()
		debug.SetPanicOnFault(true)
		memory := unsafe.Slice((*byte)(unsafe.Add(nil, at)), 1<<20)
		close(began)
		for i := 0; ; i++ {
			memory[i%len(memory)]++
		}
	}()
	<-began
	if err := a.Revoke(); err != nil {
		t.Fatal(err)
	}
	fault, _ := (<-ended).(error)
	var addressed interface{ Addr() uintptr }
	if !errors.As(fault, &addressed) || addressed.Addr()-at >= 1<<20 {
		t.Errorf("the goroutine ended with %v", fault)
	}
	if _, ok := fault.(runtime.Error); !ok { //nolint:errorlint // it is one or it is not
		t.Errorf("%T is not an error of the runtime", fault)
	}
	if err := errors.Join(a.Revoke(), a.Close(), a.Close(), a.Revoke()); err != nil {
		t.Error(err)
	}
}

// An arena that was revoked gives no more memory.
func TestRevokedIsFull(t *testing.T) {
	t.Parallel()
	a, err := New(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	if at := a.Malloc(100); at == 0 || at%16 != 0 || a.Size(at) < 100 || a.Used() == 0 {
		t.Errorf("100 bytes are %d bytes at %#x", a.Size(at), at)
	}
	if err := a.Revoke(); err != nil {
		t.Fatal(err)
	}
	if at := a.Malloc(1 << 20); at != 0 {
		t.Errorf("there is memory at %#x", at)
	}
}

func BenchmarkMalloc(b *testing.B) {
	a, err := New(64 << 20)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	var held [512]uintptr
	i := 0
	for b.Loop() {
		if at := held[i%len(held)]; at != 0 {
			a.Free(at)
		}
		held[i%len(held)] = a.Malloc(uintptr(600 + i*7919%4000))
		i++
	}
}
