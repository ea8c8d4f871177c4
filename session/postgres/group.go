package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

// group makes changes of several sessions in one transaction, so that they share its
// cost. While one is in progress, callers queue; then the first of them makes the
// changes of all. A caller who finds no transaction in progress does not wait, and
// none waits for more than longest, unless its own session is being changed. If many
// queue, there is a second transaction, which the database works on while the first one
// waits for the disk.
//
// A transaction only makes changes that nothing prevents. Every other one is left to
// its caller, who makes it alone, as if there was no group: if the session has another
// owner, or is locked, or if the transaction fails. If it is not known whether the
// transaction took effect, each caller finds out for its own change.
type group struct {
	always  bool          // also for one change, for tests
	longest time.Duration // replaces the constant if it is not 0, for tests

	mu      sync.Mutex
	busy    int  // callers who make changes, and for whom others wait
	joining bool // whether one of them still adds those that queue to its own
	queue   []*change
	current map[string]bool // sessions with a change that is being made
}

// longest is how long others wait for a transaction. After that there is another one
// beside it: one may wait for a session that is locked, or for a lost connection.
const longest = 200 * time.Millisecond

const (
	// The most changes of one transaction, and their size.
	mostChanges = 128
	mostBytes   = 4 << 20
	// most is how many transactions there are at the same time, beside those that take
	// longer than longest.
	most = 2
	// secondAt is how many changes queue at least when a second transaction begins. They
	// are as many as those that are being made: two large transactions cost less than
	// many small ones.
	secondAt = 16
)

// change is a call of Append, End or Begin.
type change struct {
	kind  kind
	key   string // digest of the session
	size  int
	begin *beginning
	log   []any // changes.args
	epoch int64
	nonce int64
	end   ended

	turn  chan struct{} // receives a value when the change was made, or the caller is to make it
	first bool          // whether the caller makes it, with others

	// The outcome.
	applied  bool // together with others
	err      error
	base     int64 // sequence number before the entries
	queued   bool
	delivers bool
	begun    *session.Begun
}

// kind is a method that makes a change.
type kind int

const (
	appending kind = iota
	ending
	beginningRun
)

// errAlone means that a change was not made, and that its caller may try alone.
var errAlone = errors.New("the change was not made together with others")

// errUnsent means that a change was not attempted because of an outage.
var errUnsent = errors.New("the change was not attempted")

// errPanicked means that the caller who made the change has panicked.
var errPanicked = errors.New("the change was interrupted by a panic")

// made reports whether the change was made together with others.
func (c *change) made() bool { return c != nil && c.applied }

// writeTogether is like write for a change that can be made together with others. alone
// makes it alone, and so it does if the change is nil.
func (s *backend) writeTogether(ctx context.Context, what string, c *change, alone func(ctx context.Context, conn *pgxpool.Conn, again bool) error) error {
	first := c != nil && !executed(ctx)
	return s.persist(ctx, what, true, func(again *bool) error {
		if !first {
			return s.attempt(ctx, again, alone)
		}
		first = false
		batch, err := s.group.enter(ctx, c)
		if err != nil {
			return err
		}
		if len(batch) > 0 {
			leave := sync.OnceFunc(s.group.leave)
			end := sync.OnceFunc(func() {
				s.group.done(batch)
				leave()
			})
			defer end()
			defer time.AfterFunc(cmp.Or(s.group.longest, longest), leave).Stop()
			if len(batch) == 1 && !s.group.always {
				return s.attempt(ctx, again, alone)
			}
			s.makeTogether(ctx, batch)
			end()
		}
		if errors.Is(c.err, errAlone) {
			return s.attempt(ctx, again, alone)
		}
		*again = c.err != nil && judge(c.err) == unknown
		return c.err
	})
}

// enter waits until the change was made, and returns nil, or until it is the caller's
// turn, and returns the changes to make. The caller must then call leave. A caller whose
// context ends before that leaves the queue.
func (g *group) enter(ctx context.Context, c *change) ([]*change, error) {
	g.mu.Lock()
	if g.busy == 0 && !g.current[c.key] {
		g.begin(c)
		g.mu.Unlock()
		return g.join(c), nil
	}
	c.turn = make(chan struct{}, 1)
	g.queue = append(g.queue, c)
	g.pass()
	g.mu.Unlock()
	select {
	case <-c.turn:
		return g.join(c), nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	i := slices.Index(g.queue, c)
	if i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
	g.mu.Unlock()
	if i >= 0 {
		return nil, ctx.Err()
	}
	<-c.turn
	return g.join(c), nil
}

// join returns the changes that the caller of c makes: c first, and those that queue by
// now; nil if another one has made c. Callers who can run do so before, and queue: on a busy
// machine there are many, such as those whose changes the last transaction has made.
func (g *group) join(c *change) []*change {
	if !c.first {
		return nil
	}
	runtime.Gosched()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.joining = false
	batch := g.take(c)
	g.pass()
	return batch
}

// leave lets the first caller of the queue make the next changes.
func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	g.pass()
}

// done allows further changes of the sessions.
func (g *group) done(batch []*change) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range batch {
		delete(g.current, c.key)
	}
	g.pass()
}

// begin notes that the caller of c makes changes. g.mu must be held.
func (g *group) begin(c *change) {
	g.busy++
	g.joining, c.first = true, true
	if g.current == nil {
		g.current = map[string]bool{}
	}
	g.current[c.key] = true
}

// pass lets the first caller of the queue make the next changes, if it is time for them.
// g.mu must be held.
func (g *group) pass() {
	if g.joining || g.busy >= most || g.busy > 0 && len(g.queue) < max(secondAt, len(g.current)) {
		return
	}
	for i, c := range g.queue {
		if !g.current[c.key] {
			g.queue = slices.Delete(g.queue, i, i+1)
			g.begin(c)
			c.turn <- struct{}{}
			return
		}
	}
}

// take removes the changes that are made with the first from the queue, in order: at
// most one for each session, and none if one is being made. g.mu must be held.
func (g *group) take(first *change) []*change {
	batch, size := []*change{first}, first.size
	later := map[string]bool{}
	g.queue = slices.DeleteFunc(g.queue, func(c *change) bool {
		if g.current[c.key] || later[c.key] || len(batch) == mostChanges || size+c.size > mostBytes {
			later[c.key] = true // those behind it wait, too
			return false
		}
		g.current[c.key] = true
		size += c.size
		batch = append(batch, c)
		return true
	})
	return batch
}

// makeTogether makes changes in one transaction, sets their outcomes, and wakes the
// callers other than the first.
func (s *backend) makeTogether(ctx context.Context, batch []*change) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patient())
	defer cancel()
	finished := false
	defer func() {
		if !finished { // a panic: the callers must not wait forever
			finish(batch, &lostError{errPanicked})
		}
	}()
	conn, err := s.acquireUnless(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnsent, err)
	} else {
		err = tag(ctx, conn, s.silent(ctx, s.send(ctx, conn, batch)))
		conn.Release()
	}
	if refusesWrites(err) {
		s.writes.Failed(err) //nolint:contextcheck // the probing outlives the call
	}
	if err != nil {
		if _, answered := errors.AsType[*pgconn.PgError](err); !answered && judge(err) == final {
			err = &lostError{err} // the response was not understood
		}
		if judge(err) == final {
			err = errAlone // one of the changes is the reason
		}
	}
	finished = true
	finish(batch, err)
}

// finish sets the outcomes of changes, and wakes the callers other than the first.
func finish(batch []*change, err error) {
	for _, c := range batch {
		if c.applied = c.applied && err == nil; !c.applied {
			c.err = cmp.Or(err, errAlone)
		}
	}
	for _, c := range batch[1:] {
		c.turn <- struct{}{}
	}
}

// acquireUnless is acquire, unless an outage has begun while the changes were queued:
// their callers decide whether they wait for its end.
func (s *backend) acquireUnless(ctx context.Context) (*pgxpool.Conn, error) {
	if o := s.outage(true); o != nil {
		return nil, o.Err
	}
	return s.acquire(ctx)
}

// send makes changes in one transaction, and sets the outcomes of those that were
// made. If it fails, all are undone, unless the response was lost or not understood.
func (s *backend) send(ctx context.Context, conn batcher, batch []*change) error {
	b := &pgx.Batch{}
	var takers []func(pgx.BatchResults) error
	batch = slices.DeleteFunc(slices.Clone(batch), func(c *change) bool {
		return c.kind != beginningRun && !s.current(c.epoch) // its caller has to check the log first
	})
	if len(batch) == 0 {
		return nil
	}
	for _, one := range []struct {
		kind  kind
		queue func(*pgx.Batch, []*change) func(pgx.BatchResults) error
	}{{beginningRun, s.queueBegins}, {appending, queueAppends}, {ending, queueEnds}} {
		var some []*change
		for _, c := range batch {
			if c.kind == one.kind {
				some = append(some, c)
			}
		}
		if len(some) > 0 {
			takers = append(takers, one.queue(b, some))
		}
	}
	results := conn.SendBatch(ctx, b)
	for _, take := range takers {
		if err := take(results); err != nil {
			_ = results.Close()
			return err
		}
	}
	return results.Close()
}
