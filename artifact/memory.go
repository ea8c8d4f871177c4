package artifact

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
)

// memory stores objects in memory.
type memory struct {
	mu   sync.RWMutex
	data map[string][]byte
	keys []string // sorted, so that those of one file are found quickly
}

func (m *memory) Put(ctx context.Context, key string, content io.Reader, fresh bool) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, there := m.data[key]
	if there && fresh {
		return ErrExists
	}
	if !there {
		place, _ := slices.BinarySearch(m.keys, key)
		m.keys = slices.Insert(m.keys, place, key)
	}
	m.data[key] = data
	return nil
}

func (m *memory) Get(_ context.Context, key string) (io.ReadSeekCloser, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	data, ok := m.data[key]
	if !ok {
		return nil, ErrMissing
	}
	return bare{bytes.NewReader(data)}, nil
}

func (m *memory) List(_ context.Context, prefix string) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	first, _ := slices.BinarySearch(m.keys, prefix)
	last := first
	for last < len(m.keys) && strings.HasPrefix(m.keys[last], prefix) {
		last++
	}
	return slices.Clone(m.keys[first:last]), nil
}

func (m *memory) Remove(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if place, there := slices.BinarySearch(m.keys, key); there {
		m.keys = slices.Delete(m.keys, place, place+1)
		delete(m.data, key)
	}
	return nil
}
