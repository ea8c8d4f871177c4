package run

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/run/stream"
	"github.com/parley-run/parley/session"
)

// Item is what a Reader returns: a stored event, or a piece of one to come.
type Item = stream.Item

// Reader reads a run wherever it is: from its feed while it is worked on here,
// with the pieces on the way to each event, and else from the store, event by
// event. When a run changes hands the reader goes along. It must be used by one
// goroutine, and closed.
type Reader struct {
	engine *Engine
	key    session.Key
	id     string
	hint   uint64

	ready chan struct{} // nil while it need not be told of changes
	after int64         // sequence of the last event that was read
	row   *session.Run

	turn  *turn
	local *stream.Follower // nil while it reads from the store
	found []*session.Entry
	again *time.Timer // when it looks again, whether or not it was told to

	mu      sync.Mutex
	offered source // of a turn that has begun meanwhile
}

// readAgain is how long a reader of the store waits before it reads again without
// having been told of a change.
const readAgain = 500 * time.Millisecond

// source is where a reader finds more than in the store.
type source struct {
	turn     *turn
	follower *stream.Follower
}

// newReader reads the run of a row that is known.
func (e *Engine) newReader(row *session.Run, after int64) *Reader {
	known := *row
	known.Status = session.Running // until it is read again
	r := &Reader{engine: e, key: row.Key, id: row.ID, row: &known, after: after}
	r.listen()
	return r
}

// listen registers the reader, to be told of changes in the store, and of a turn
// that works on the run here.
func (r *Reader) listen() {
	r.hint = r.key.Hint()
	if r.ready == nil {
		r.ready = make(chan struct{}, 1)
	}
	r.engine.turns.listen(r)
	r.wake()
}

func (r *Reader) wake() {
	select {
	case r.ready <- struct{}{}:
	default: // it has not looked since it was woken before
	}
}

// offer gives the reader the feed of a turn, from after a sequence on; nil for
// none.
func (r *Reader) offer(t *turn, after int64) {
	var better source
	if t != nil {
		better = source{t, t.feed.Follow(after)}
	}
	r.mu.Lock()
	old := r.offered
	r.offered = better
	r.mu.Unlock()
	if old.follower != nil {
		old.follower.Close()
	}
	r.wake()
}

// Ready receives a value when Take may return something new.
func (r *Reader) Ready() <-chan struct{} {
	if r.local != nil {
		return r.local.Ready()
	}
	return r.ready
}

// Begun reports whether the run is known to have begun.
func (r *Reader) Begun() bool { return r.local != nil || r.row != nil && r.row.First != 0 }

// Run is how the run stood when Take failed with io.EOF.
func (r *Reader) Run() *session.Run { return r.row }

// Close ends the reading.
func (r *Reader) Close() {
	r.engine.turns.unlisten(r)
	r.offer(nil, 0)
	if r.local != nil {
		r.local.Close()
	}
	if r.again != nil {
		r.again.Stop()
	}
}

// Take returns the next item, if there is one already. At the end of the run
// it fails with io.EOF, and then Run tells how it ended.
func (r *Reader) Take(ctx context.Context) (item Item, ok bool, err error) {
	for {
		r.attach()
		if r.local == nil {
			return r.fromStore(ctx)
		}
		item, ok, err := r.local.Take()
		if ok && item.Entry != nil {
			if item.Entry.Seq <= r.after {
				continue // it was read from the store before
			}
			r.after = item.Entry.Seq
		}
		if !errors.Is(err, io.EOF) {
			return item, ok, err
		}
		<-r.turn.done // which follows at once
		row, ended := r.turn.result()
		if ended {
			r.row = row
			return Item{}, false, io.EOF
		}
		r.row = r.turn.last()
		r.local.Close() // the run goes on elsewhere
		r.local, r.turn = nil, nil
		r.listen()
	}
}

// attach takes the source that was offered, if any.
func (r *Reader) attach() {
	if r.local != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.offered.turn == nil {
		return
	}
	r.turn, r.local = r.offered.turn, r.offered.follower
	r.offered = source{}
}

func (r *Reader) fromStore(ctx context.Context) (Item, bool, error) {
	if len(r.found) == 0 && (r.row == nil || !r.row.Status.Ended()) {
		ctx := session.Insist(ctx)
		row, err := r.engine.cfg.Store.Run(ctx, r.key, r.id)
		if r.row != nil && (errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrRunNotFound)) {
			gone := *r.row // with its session; its runs were cancelled first
			gone.Status = session.Cancelled
			r.row = &gone
			return Item{}, false, io.EOF
		}
		if err != nil {
			return Item{}, false, r.failed(storeError("read the run", err))
		}
		// How it stands is read first: what it has stored by then is found.
		if r.found, err = r.engine.entries(ctx, row, r.after); err != nil {
			return Item{}, false, r.failed(err)
		}
		r.row = row
	}
	if len(r.found) > 0 {
		entry := r.found[0]
		r.found = r.found[1:]
		r.after = entry.Seq
		return Item{JSON: entry.JSON, Entry: entry}, true, nil
	}
	if r.row.Status.Ended() {
		return Item{}, false, io.EOF
	}
	if r.engine.Closing() {
		return Item{}, false, ErrClosing
	}
	if r.again == nil {
		r.again = time.AfterFunc(readAgain, r.wake)
	} else {
		r.again.Reset(readAgain)
	}
	return Item{}, false, nil
}

// failed is what a reader is told when the store fails. The store of a server
// that ends is closed before all readers have looked: what they miss, they find
// elsewhere.
func (r *Reader) failed(err error) error {
	if r.engine.Closing() {
		return ErrClosing
	}
	return err
}

// Next waits for the next item. It fails with io.EOF at the end of the run,
// with the cause of ctx when that is done first, and with ErrClosing when the
// run is left to other processes.
func (r *Reader) Next(ctx context.Context) (Item, error) {
	for {
		item, ok, err := r.Take(ctx)
		if ok || err != nil {
			return item, err
		}
		select {
		case <-r.Ready():
		case <-ctx.Done():
			return Item{}, context.Cause(ctx)
		}
	}
}
