package sse

import "sync"

// buffers pools the buffers of responses and events (BenchmarkRunSSE in package bench).
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled keeps large buffers out of the pool.
const maxPooled = 64 << 10

// Buffer returns an empty buffer. The caller must release it.
func Buffer() *[]byte {
	b, _ := buffers.Get().(*[]byte)
	*b = (*b)[:0]
	return b
}

// Release returns a buffer to the pool.
func Release(b *[]byte) {
	if cap(*b) > maxPooled {
		*b = nil
	}
	buffers.Put(b)
}
