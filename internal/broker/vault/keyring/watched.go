package keyring

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/broker/vault"
)

// A keyset that cannot be read is tried again with increasing pauses, unless its file changes.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// watched is a keyset that checks its file before every use. Sealing is rare, and the check is cheap.
type watched struct {
	path string
	load func(context.Context) (*vault.Ring, os.FileInfo, error)
	log  *slog.Logger

	mu      sync.Mutex // held for moments only: reading a keyset may take long
	ring    *vault.Ring
	seen    os.FileInfo
	loading chan struct{} // closed when the file has been read; nil if no goroutine reads it
	// What could not be read, and when it is tried again.
	failed os.FileInfo
	retry  time.Time
	wait   time.Duration
}

// current returns the keyset, or the last one that could be read. The goroutine that notices a change reads the file;
// others continue with the old keyset.
func (w *watched) current() *vault.Ring {
	info, err := os.Stat(w.path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || w.loading != nil || same(info, w.seen) || same(info, w.failed) && time.Now().Before(w.retry) {
		return w.ring
	}
	w.loading = make(chan struct{})
	w.mu.Unlock()
	r, read, err := w.load(context.Background())
	w.mu.Lock()
	close(w.loading)
	w.loading = nil
	if err == nil {
		w.ring, w.seen, w.failed = r, read, nil
		return r
	}
	w.wait = min(2*w.wait, lastRetry)
	if !same(info, w.failed) {
		w.wait = firstRetry
	}
	w.failed, w.retry = info, time.Now().Add(w.wait)
	w.log.Warn("the changed keyset file cannot be read; the previous keyset stays in use", "err", err)
	return w.ring
}

// settled is like current, but waits for a goroutine that reads the file.
func (w *watched) settled() *vault.Ring {
	w.mu.Lock()
	defer w.mu.Unlock()
	if done := w.loading; done != nil {
		w.mu.Unlock()
		<-done
		w.mu.Lock()
	}
	return w.ring
}

// same reports whether a file is unchanged. Its mode counts, because it decides whether a keyset may be used.
func same(now, then os.FileInfo) bool {
	return then != nil && os.SameFile(now, then) && now.ModTime().Equal(then.ModTime()) && now.Size() == then.Size() && now.Mode() == then.Mode()
}
