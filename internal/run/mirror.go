package run

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/internal/run/stream"
	"github.com/parley-run/parley/session"
)

// mirror is the feed of a turn on another server, for all readers of the run on this
// one. The events are those of the log, and only the partial events before them come
// from the other server, over one connection. Without the connection, the readers get
// whole events, as soon as they are stored.
//
// A mirror is of one epoch: when the run changes hands, it ends without an outcome,
// like a turn that is lost, and the readers look for the next worker.
type mirror struct {
	engine *Engine
	key    session.Key
	id     string
	worker string
	epoch  int64

	feed  stream.Feed
	woken chan struct{}
	stop  context.CancelFunc
	done  chan struct{}
	row   *session.Run // the last known one; it does not change after done

	after     atomic.Int64    // sequence number of the last event in the feed
	ahead     map[string]bool // ids of events that the other server has not announced
	announced int64           // sequence number of the last event that it has announced
	trusted   bool            // the other server announces what it stores

	mu      sync.Mutex
	readers int
	left    bool // the last reader is gone
}

// linkBackoff is the pause between attempts to reach the other server.
var linkBackoff = retry.Backoff{Wait: 250 * time.Millisecond, Max: 10 * time.Second}

// maxSilence is how long a mirror does not look at the log while the other server is
// connected and the store reports no change: that server may have lost the run.
const maxSilence = 4 * readAgain

// mirror offers the mirror of its run to a reader, which has read the run's row.
func (e *Engine) mirror(r *Reader) {
	if e.cfg.Peers == nil || r.row.Worker == e.cfg.Peers.Self() {
		return
	}
	e.turns.mirror(r, e.newMirror)
}

// newMirror returns the mirror of a run, which is not started.
func (e *Engine) newMirror(row *session.Run) *mirror {
	return &mirror{
		engine: e, key: row.Key, id: row.ID, worker: row.Worker, epoch: row.Epoch, row: row,
		woken: make(chan struct{}, 1), done: make(chan struct{}), ahead: map[string]bool{},
	}
}

// mirror offers to a reader the mirror of its run, which it makes if there is none.
func (r *registry) mirror(reader *Reader, create func(*session.Run) *mirror) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := reader.row
	if r.closing || r.of(reader.key, reader.id) != nil {
		return
	}
	for _, m := range r.mirrors[reader.hint] {
		if m.key == row.Key && m.id == row.ID && m.epoch == row.Epoch && m.join() {
			reader.offer(source{m, m.feed.Follow(reader.after)})
			return
		}
	}
	m := create(row)
	m.join()
	var ctx context.Context
	ctx, m.stop = context.WithCancel(m.engine.upkeep.ctx)
	r.mirrors[reader.hint] = append(r.mirrors[reader.hint], m)
	reader.offer(source{m, m.feed.Follow(reader.after)})
	r.mirrored.Go(func() {
		m.run(ctx)
		m.stop()
		r.mu.Lock()
		left := slices.DeleteFunc(r.mirrors[m.key.Hint()], func(other *mirror) bool { return other == m })
		if r.mirrors[m.key.Hint()] = left; len(left) == 0 {
			delete(r.mirrors, m.key.Hint())
		}
		r.mu.Unlock()
		m.feed.End()
		close(m.done)
	})
}

// join adds a reader. It returns false if the mirror has ended because it had none.
func (m *mirror) join() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.left {
		m.readers++
	}
	return !m.left
}

// unfollow removes a reader. The mirror ends with the last one.
func (m *mirror) unfollow() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readers--; m.readers == 0 {
		m.left = true
		m.stop()
	}
}

func (m *mirror) isOver() <-chan struct{} { return m.done }

func (m *mirror) result() (*session.Run, bool) { return m.row, m.row.Status.Ended() }

func (m *mirror) last() *session.Run { return m.row }

func (m *mirror) wake() {
	select {
	case m.woken <- struct{}{}:
	default: // it has not read since the last wake-up
	}
}

// signal is what a mirror learns from the other server: an item or, if it is nil,
// that the connection was made (up) or has ended.
type signal struct {
	item *RemoteItem
	up   bool
}

// run copies the feed until the run has ended or changes hands.
//
// A server that is connected announces an event after the pieces that precede it, so
// the log is read then, and not when the store reports the change, which may be earlier.
// If the server does not announce a change within readAgain, the log is read all the
// same.
func (m *mirror) run(ctx context.Context) {
	signals := make(chan signal)
	linked := make(chan struct{})
	go func() {
		defer close(linked)
		m.link(ctx, signals)
	}()
	defer func() {
		m.stop()
		<-linked
	}()
	again := time.NewTimer(0)
	defer again.Stop()
	changed := false // since the log was read
	for {
		var read, overdue bool
		select {
		case s := <-signals:
			read = m.take(s)
		case <-m.woken:
			if read = !m.trusted; !read && !changed {
				changed = true
				again.Reset(readAgain)
			}
		case <-again.C:
			if overdue = changed || !m.trusted; overdue {
				read = true
			} else if changed = m.isNew(ctx); changed {
				again.Reset(readAgain)
			} else {
				again.Reset(maxSilence)
			}
		case <-ctx.Done():
			return
		}
		if !read {
			continue
		}
		before := m.after.Load()
		if !m.read(ctx) {
			return
		}
		if overdue && m.after.Load() != before {
			m.trusted = false // until it sends something again
		}
		changed = false
		if m.trusted {
			again.Reset(maxSilence)
		} else {
			again.Reset(readAgain)
		}
	}
}

// take adds what the other server has sent to the feed. It reports whether the log is
// to be read.
func (m *mirror) take(s signal) (read bool) {
	m.trusted = s.item != nil || s.up
	switch {
	case s.item == nil:
		return true
	case s.item.Seq != 0:
		m.announced = max(m.announced, s.item.Seq)
		if m.announced >= m.after.Load() {
			clear(m.ahead)
		}
		return s.item.Seq > m.after.Load()
	case !m.ahead[s.item.EventID]:
		// A piece that cannot be added is left out; the event has its text.
		_ = m.feed.Copy(s.item.EventID, s.item.Start, s.item.Piece)
	}
	return false
}

// isNew reports whether read would find anything.
func (m *mirror) isNew(ctx context.Context) bool {
	row, err := m.engine.cfg.Store.Run(ctx, m.key, m.id)
	if err != nil || row.Status != session.Running || row.Epoch != m.epoch || row.Worker != m.worker {
		return true
	}
	entries, err := m.engine.entries(ctx, row, m.after.Load())
	return err != nil || len(entries) > 0
}

// read adds the new events of the log to the feed. It returns false when the mirror
// ends: at the end of the run, when it has another worker, and when the log cannot be
// read, which the readers find out themselves.
func (m *mirror) read(ctx context.Context) bool {
	row, err := m.engine.cfg.Store.Run(ctx, m.key, m.id)
	if err != nil || row.Epoch != m.epoch {
		return false
	}
	entries, err := m.engine.entries(ctx, row, m.after.Load())
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if entry.Seq > m.announced {
			if ev, err := entry.Decode(); err == nil {
				m.ahead[ev.ID] = true
			}
		}
		m.feed.Store(entry)
		m.after.Store(entry.Seq)
	}
	m.row = row
	return !row.Status.Ended() && row.Worker == m.worker
}

// link follows the feed of the other server, and connects again when the connection
// breaks.
func (m *mirror) link(ctx context.Context, to chan<- signal) {
	send := func(s signal) {
		select {
		case to <- s:
		case <-ctx.Done():
		}
	}
	backoff := linkBackoff
	for ctx.Err() == nil {
		feed, err := m.engine.cfg.Peers.Follow(ctx, m.worker, FeedRequest{Key: m.key, Run: m.id, Epoch: m.epoch, After: m.after.Load()})
		if err == nil {
			send(signal{up: true})
			for err == nil && ctx.Err() == nil {
				var item RemoteItem
				if item, err = feed.Next(); err == nil {
					backoff = linkBackoff
					send(signal{item: &item})
				}
			}
			feed.Close()
			send(signal{})
		}
		if errors.Is(err, io.EOF) || errors.Is(err, ErrNoPieces) {
			return // the log has the rest
		}
		if ctx.Err() == nil {
			m.engine.unlinked.Add(1)
			m.engine.cfg.Log.Debug("could not follow a run on the server that works on it; its readers get whole events", "run_id", m.id, "err", err)
		}
		_ = retry.Sleep(ctx, backoff.Next())
	}
}

// Mirrored returns the number of runs on other servers that readers follow here, and
// how often such a server could not be reached, or was lost.
func (e *Engine) Mirrored() (runs int, failures int64) {
	e.turns.mu.Lock()
	defer e.turns.mu.Unlock()
	for _, same := range e.turns.mirrors {
		runs += len(same)
	}
	return runs, e.unlinked.Load()
}
