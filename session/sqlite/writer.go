package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/parley-run/parley/session"
)

// writer makes all changes of the database, in one goroutine. While it commits,
// callers queue; then it makes all their changes in one transaction, so that they
// share the cost of the commit, which is most of the cost (BenchmarkAppend).
type writer struct {
	conn *conn
	log  *slog.Logger
	wake chan struct{} // holds one when there may be something to do
	gone chan struct{} // closed by the goroutine when it ends
	// grown is called with the ordinals of sessions that have grown.
	grown func(...int64)

	mu     sync.Mutex
	queue  []*op
	closed bool
}

// op is a change to be made.
type op struct {
	do func(*conn) error // may be called more than once
	// outside of any transaction, for reads
	outside bool
	stage   atomic.Int32
	err     error
	done    chan error // holds the answer
}

// The stages of an op. The goroutine that moves it out of the first one decides.
const (
	waiting int32 = iota
	begun
	left // by its caller
)

// maxBatch bounds how long the first op of a transaction waits for the last.
const maxBatch = 256

func newWriter(c *conn, log *slog.Logger, grown func(...int64)) *writer {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	w := &writer{conn: c, log: log, wake: make(chan struct{}, 1), gone: make(chan struct{}), grown: grown}
	go w.work()
	return w
}

// write calls do in a transaction, and rolls its changes back if it fails. do must
// not have other side effects, and may be called more than once. A caller whose context ends before do has begun
// returns immediately; after that, write returns the outcome.
func (s *backend) write(ctx context.Context, do func(*conn) error) error {
	err := s.writer.submit(ctx, &op{do: do, done: make(chan error, 1)})
	if refusesWrites(err) {
		s.health.Failed(err) //nolint:contextcheck // the probing outlives the call
		return &session.UnavailableError{Cause: err}
	}
	return err
}

// refusesWrites reports that nothing can be stored now: the disk is full or fails,
// the file is read-only, or another process does not release it.
func refusesWrites(err error) bool {
	switch code(err) {
	case lib.SQLITE_FULL, lib.SQLITE_READONLY, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_BUSY, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// Ready implements session.Upkeep.
func (s *backend) Ready(ctx context.Context) error { return s.health.Check(ctx) }

// probe writes something that needs space, and deletes it.
func (s *backend) probe(ctx context.Context) error {
	return s.writer.submit(ctx, &op{done: make(chan error, 1), do: func(c *conn) error {
		err := c.exec("INSERT INTO state (owner, name, value) VALUES ('probe', '', randomblob(16384))")
		if err != nil {
			return err
		}
		return c.exec("DELETE FROM state WHERE owner = 'probe'")
	}})
}

func (w *writer) submit(ctx context.Context, o *op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.queue = append(w.queue, o)
	w.mu.Unlock()
	w.signal()
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		if o.stage.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
		return <-o.done
	}
}

// signal wakes the goroutine of the writer.
func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it was signalled before
	}
}

// close ends the goroutine when the queue is empty.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.gone
	return w.conn.close()
}

func (w *writer) work() {
	defer close(w.gone)
	for {
		w.mu.Lock()
		ops, closed := w.queue, w.closed
		w.queue = nil
		w.mu.Unlock()
		if len(ops) == 0 {
			if closed {
				return
			}
			<-w.wake
			continue
		}
		ops = w.looks(ops)
		for len(ops) > 0 {
			ops = ops[w.batch(ops[:min(len(ops), maxBatch)]):]
		}
	}
}

// looks runs ops that need no transaction, and returns the rest.
func (w *writer) looks(ops []*op) []*op {
	rest := ops[:0]
	for _, o := range ops {
		if !o.outside {
			rest = append(rest, o)
		} else if o.stage.CompareAndSwap(waiting, begun) {
			o.done <- o.do(w.conn)
		}
	}
	return rest
}

// batch runs ops in one transaction, and answers them. It returns how many it has
// processed: all, unless a failure ended the transaction.
//
// Savepoints take a tenth of the time (BenchmarkTurn), and few ops fail after they have
// changed something. If one does, all are run again, each after a savepoint.
func (w *writer) batch(ops []*op) int {
	if len(ops) > 1 {
		if done, ok := w.transact(ops, false); ok {
			return done
		}
	}
	done, _ := w.transact(ops, len(ops) > 1)
	return done
}

// transact is batch with or without savepoints. Without them, it reports false if
// another transaction has to make all changes.
func (w *writer) transact(ops []*op, savepoints bool) (done int, ok bool) {
	c := w.conn
	c.epoch = 0
	c.grown, c.spent = c.grown[:0], c.spent[:0]
	if err := w.begin(ops); err != nil {
		w.answer(ops, err)
		return len(ops), true
	}
	for i, o := range ops {
		if !o.take() {
			continue
		}
		var err error
		spent := len(c.spent)
		c.changed = false
		if o.err, err = w.apply(o, savepoints); o.err != nil {
			c.spent = c.spent[:spent]
		}
		if err != nil {
			_ = c.exec("ROLLBACK") // SQLite may have rolled back by itself
			w.answer(ops[:i+1], err)
			return i + 1, true
		}
		switch {
		case o.err == nil || savepoints:
		case len(ops) == 1:
			w.answer(ops, c.exec("ROLLBACK"))
			return 1, true
		case c.changed || code(o.err) != 0: // an error of SQLite may have ended the transaction
			_ = c.exec("ROLLBACK") // as above
			return 0, false
		}
	}
	err := c.commit()
	if err != nil {
		err = fmt.Errorf("commit: %w", err)
		_ = c.exec("ROLLBACK") // as above
	} else {
		w.grown(c.grown...)
	}
	w.answer(ops, err)
	return len(ops), true
}

// take reports whether o is to be run: its caller has not left.
func (o *op) take() bool { return o.stage.CompareAndSwap(waiting, begun) || o.stage.Load() == begun }

// commit ends the transaction.
func (c *conn) commit() error {
	if err := c.storeSpent(); err != nil {
		return err
	}
	if c.epoch != 0 {
		if err := c.exec("UPDATE epochs SET last = ?", c.epoch); err != nil {
			return err
		}
	}
	return c.exec("COMMIT")
}

// apply runs one op. failed is its own failure, which is rolled back if there are
// savepoints; lost is a failure of the transaction.
func (w *writer) apply(o *op, savepoints bool) (failed, lost error) {
	if !savepoints {
		return o.do(w.conn), nil
	}
	if err := w.conn.exec("SAVEPOINT op"); err != nil {
		return nil, fmt.Errorf("savepoint: %w", err)
	}
	if failed = o.do(w.conn); failed != nil {
		if err := w.conn.exec("ROLLBACK TO op"); err != nil {
			return failed, fmt.Errorf("roll back: %w", errors.Join(failed, err))
		}
	}
	if err := w.conn.exec("RELEASE op"); err != nil {
		return failed, fmt.Errorf("release: %w", err)
	}
	return failed, nil
}

// answer answers ops: with err, unless they have their own failure.
func (w *writer) answer(ops []*op, err error) {
	if err != nil {
		w.log.Error("cannot write to the session database", "err", err, "operations", len(ops))
	}
	for _, o := range ops {
		if o.take() {
			o.done <- cmp.Or(o.err, err)
		}
	}
}

// begin begins a write transaction when no other process has one. It gives up when
// all callers have left, or have waited too long.
func (w *writer) begin(ops []*op) error {
	start, pause := time.Now(), minPause
	for {
		err := w.conn.exec("BEGIN IMMEDIATE")
		if err == nil {
			return nil
		}
		err = fmt.Errorf("begin: %w", err)
		if !isBusy(err) || time.Since(start) > patience || !anyWaits(ops) {
			return err
		}
		time.Sleep(pause)
		pause = min(2*pause, maxPause)
	}
}

// The pauses between attempts to begin: the first is about as long as a commit.
const (
	minPause = 100 * time.Microsecond
	maxPause = 5 * time.Millisecond
)

func anyWaits(ops []*op) bool {
	for _, o := range ops {
		if o.stage.Load() != left {
			return true
		}
	}
	return false
}
