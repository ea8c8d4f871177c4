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

// Item is what a Reader returns: a stored event, or a partial event.
type Item = stream.Item

// Reader reads a run on any server. While the run is active on this server, it
// reads from the feed, which includes partial events. While the run is active on
// another one, it reads from a mirror of that feed, if that server can be followed, and
// otherwise stored events from the store. It follows a run that changes servers. It
// must be used by one goroutine, and closed.
type Reader struct {
	engine *Engine
	key    session.Key
	id     string
	hint   uint64

	ready chan struct{} // nil while it needs no notifications
	after int64         // sequence number of the last event that was read
	row   *session.Run

	from  origin
	local *stream.Follower // nil while it reads from the store
	found []*session.Entry
	again *time.Timer // when it reads again without a notification
	whole bool        // it needs no partial events

	mu      sync.Mutex
	offered source // of a turn that has begun in the meantime
}

// readAgain is how long a reader of the store waits before it reads again without a
// notification.
const readAgain = 500 * time.Millisecond

// source provides more than the store does.
type source struct {
	from     origin
	follower *stream.Follower
}

func (s source) close() {
	if s.from != nil {
		s.follower.Close()
		s.from.unfollow()
	}
}

// origin is what a reader follows: a turn of this server, or the mirror of one on
// another server.
type origin interface {
	// isOver is closed when the feed has ended, and the outcome is known.
	isOver() <-chan struct{}
	// result returns the outcome of the run, unless it continues elsewhere.
	result() (*session.Run, bool)
	// last returns the last known row of the run.
	last() *session.Run
	// unfollow is called when a reader no longer needs it.
	unfollow()
}

// newReader returns a reader of a run whose row is known.
func (e *Engine) newReader(row *session.Run, after int64) *Reader {
	known := *row
	known.Status = session.Running // until the row is read again
	r := &Reader{engine: e, key: row.Key, id: row.ID, row: &known, after: after}
	r.listen()
	return r
}

// listen registers the reader for changes in the store, and for a turn of the run
// on this server.
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
	default: // it has not read since the last wake-up
	}
}

// offer passes a source to the reader, in place of the one that was offered before.
func (r *Reader) offer(better source) {
	r.mu.Lock()
	old := r.offered
	r.offered = better
	r.mu.Unlock()
	old.close()
	r.wake()
}

// Ready receives a value when Take may return something new.
func (r *Reader) Ready() <-chan struct{} {
	if r.local != nil {
		return r.local.Ready()
	}
	return r.ready
}

// Prompt reports whether Take returns without reading from the store or waiting for
// another server.
func (r *Reader) Prompt() bool {
	if r.local == nil {
		return len(r.found) > 0
	}
	_, here := r.from.(*turn)
	return here
}

// Begun reports whether the run is known to have begun.
func (r *Reader) Begun() bool { return r.local != nil || r.row != nil && r.row.First != 0 }

// Run returns the state of the run at the time when Take failed with io.EOF.
func (r *Reader) Run() *session.Run { return r.row }

// Key returns the session of the run.
func (r *Reader) Key() session.Key { return r.key }

// Close releases the reader.
func (r *Reader) Close() {
	r.engine.turns.unlisten(r)
	r.offer(source{})
	r.detach()
	if r.again != nil {
		r.again.Stop()
	}
}

// Take returns the next item, if one is available. At the end of the run it fails
// with io.EOF; Run then returns the outcome.
func (r *Reader) Take(ctx context.Context) (item Item, ok bool, err error) {
	for {
		r.attach()
		if r.local == nil {
			return r.fromStore(ctx)
		}
		item, ok, err := r.local.Take()
		if ok && item.Entry != nil {
			if item.Entry.Seq <= r.after {
				continue // already read from the store
			}
			r.after = item.Entry.Seq
		}
		if !errors.Is(err, io.EOF) {
			return item, ok, err
		}
		<-r.from.isOver() // the stored event follows immediately
		row, ended := r.from.result()
		if ended {
			r.row = row
			return Item{}, false, io.EOF
		}
		r.row = r.from.last()
		r.detach() // the run continues elsewhere
		r.listen()
		r.wake() // what was taken before can be sent before the store is read
		return Item{}, false, nil
	}
}

// attach switches to the offered source, if any.
func (r *Reader) attach() {
	if r.local != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.offered.from == nil {
		return
	}
	r.from, r.local = r.offered.from, r.offered.follower
	r.offered = source{}
	r.found = nil // the source has them, too
}

// detach leaves the source.
func (r *Reader) detach() {
	source{r.from, r.local}.close()
	r.from, r.local = nil, nil
}

func (r *Reader) fromStore(ctx context.Context) (Item, bool, error) {
	if len(r.found) == 0 && (r.row == nil || !r.row.Status.Ended()) {
		ctx := session.Insist(ctx)
		row, err := r.engine.cfg.Store.Run(ctx, r.key, r.id)
		if r.row != nil && (errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrRunNotFound)) {
			gone := *r.row // deleted with its session, whose runs were cancelled first
			gone.Status = session.Cancelled
			r.row = &gone
			return Item{}, false, io.EOF
		}
		if err != nil {
			return Item{}, false, r.failed(storeError("read the run", err))
		}
		// Read the state of the run first, so that everything that it has stored by
		// then is found.
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
	if r.row.Worker != "" && !r.whole {
		r.engine.mirror(r)
	}
	if r.again == nil {
		r.again = time.AfterFunc(readAgain, r.wake)
	} else {
		r.again.Reset(readAgain)
	}
	return Item{}, false, nil
}

// failed returns the error of a reader after a failure of the store. During
// shutdown the store is closed before all readers have finished: they continue on
// another server.
func (r *Reader) failed(err error) error {
	if r.engine.Closing() {
		return ErrClosing
	}
	return err
}

// Next waits for the next item. It fails with io.EOF at the end of the run, with
// the cause of ctx if that is done first, and with ErrClosing if other processes
// continue the run.
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
