package testkit

import (
	"bytes"
	"sync"
)

// Buffer is a log that is written and read at once.
type Buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

// Bytes is what was written so far.
func (b *Buffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.all.Bytes())
}

func (b *Buffer) String() string { return string(b.Bytes()) }
