package artifact

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// memory is objects that live and die with the process.
type memory struct {
	mu   sync.RWMutex
	data map[string][]byte
}

func (m *memory) put(ctx context.Context, key string, content io.Reader, fresh bool) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.data[key]; there && fresh {
		return errExists
	}
	m.data[key] = data
	return nil
}

func (m *memory) get(_ context.Context, key string) (io.ReadSeekCloser, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	data, ok := m.data[key]
	if !ok {
		return nil, errMissing
	}
	return bare{bytes.NewReader(data)}, nil
}

func (m *memory) list(_ context.Context, prefix string) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(m.data)), func(key string) bool { return !strings.HasPrefix(key, prefix) })
	slices.Sort(keys)
	return keys, nil
}

func (m *memory) remove(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.data, key)
	return nil
}
