package run

import (
	"context"
	"errors"
	"io"

	"github.com/parley-run/parley/internal/run/stream"
	"github.com/parley-run/parley/session"
)

// Run is a handle of a run, regardless of the process that executes it and of its
// status. Its methods are safe for concurrent use.
type Run struct {
	// Repeat means that the request repeated an earlier one.
	Repeat bool

	engine *Engine
	key    session.Key
	id     string
	row    *session.Run     // the last known row, if it is not active here
	turn   *turn            // nil if it is not active here
	first  *stream.Follower // for a request with Stream, so that its reader misses no partial event
}

// ID returns the id of the run, which is also the invocation id of its events.
func (r *Run) ID() string { return r.id }

// Key returns the session of the run.
func (r *Run) Key() session.Key { return r.key }

// Result is the outcome of a run.
type Result struct {
	Run     *session.Run
	Entries []*session.Entry // without the message that started it
}

// Wait waits for the end of the run. If the message was not accepted, it returns
// the error that Start would have returned. It fails with the cause of ctx if that
// is done first, and with ErrClosing if other processes continue the run.
func (r *Run) Wait(ctx context.Context) (*Result, error) {
	if r.turn != nil {
		select {
		case <-r.turn.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if row, ok := r.turn.result(); ok {
			return &Result{Run: row, Entries: r.turn.feed.Entries()}, Refusal(row)
		}
	}
	reader := r.Read()
	defer reader.Close()
	reader.whole = true
	var entries []*session.Entry
	for {
		item, err := reader.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			row := reader.Run()
			return &Result{Run: row, Entries: entries}, Refusal(row)
		case err != nil:
			return nil, err
		case item.Entry != nil:
			entries = append(entries, item.Entry)
		}
	}
}

// result returns the outcome of the run if it has ended here. The turn must be
// over, so that nothing changes any more.
func (t *turn) result() (*session.Run, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost {
		return nil, false
	}
	return t.known(), true
}

// isOver is closed when the turn is over.
func (t *turn) isOver() <-chan struct{} { return t.done }

// unfollow implements origin.
func (t *turn) unfollow() {}

// last returns the last known row of the run.
func (t *turn) last() *session.Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := *t.known()
	row.Status = session.Running
	return &row
}

// Read reads the run from its first event. If the run was started with Stream, it
// must be called at most once. The caller must close the Reader.
func (r *Run) Read() *Reader {
	if r.turn == nil {
		return r.engine.newReader(r.row, 0)
	}
	reader := &Reader{engine: r.engine, key: r.key, id: r.id, local: r.first, from: r.turn}
	if r.first == nil {
		reader.local = r.turn.feed.Follow(0)
	}
	r.first = nil
	return reader
}

// Cancel requests the end of the run. It does not wait for the end. Cancelling a
// run that has ended has no effect.
func (r *Run) Cancel(ctx context.Context) error {
	_, err := r.engine.Cancel(ctx, r.key, r.id)
	return err
}

// Cancel requests the end of a run, on any process, and returns its current row.
func (e *Engine) Cancel(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	row, err := e.cfg.Store.StopRun(ctx, key, id, session.StopCancel)
	if err != nil {
		return nil, storeError("cancel the run", err)
	}
	if t := e.turns.find(key, id); t != nil {
		t.halt(session.StopCancel)
	}
	e.turns.wake(key.Hint()) // wake the readers of a queued run
	return row, nil
}

// Run returns a run of a session.
func (e *Engine) Run(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	row, err := e.cfg.Store.Run(ctx, key, id)
	if err != nil {
		return nil, storeError("read the run", err)
	}
	return row, nil
}

// Find is like Run for a caller that reads, waits for, or cancels the run.
func (e *Engine) Find(ctx context.Context, key session.Key, id string) (*Run, error) {
	row, err := e.Run(ctx, key, id)
	if err != nil {
		return nil, err
	}
	return e.handle(row, false), nil
}

// Runs returns the runs of a session, newest first.
func (e *Engine) Runs(ctx context.Context, key session.Key, page session.Page) ([]*session.Run, string, error) {
	rows, next, err := e.cfg.Store.ListRuns(ctx, key, page)
	if err != nil {
		return nil, "", storeError("list the runs", err)
	}
	return rows, next, nil
}

// RecentRuns returns the newest runs of a user; see session.Runs.
func (e *Engine) RecentRuns(ctx context.Context, app, user string, sessions, each int) ([]*session.Run, error) {
	rows, err := e.cfg.Store.RecentRuns(ctx, app, user, sessions, each)
	if err != nil {
		return nil, storeError("list recent runs", err)
	}
	return rows, nil
}

// CanFindRuns reports whether the store lists the runs of all sessions.
func (e *Engine) CanFindRuns() bool { return e.cfg.Store.RunLister != nil }

// FindRuns returns runs of all sessions, newest first; see session.RunLister.
func (e *Engine) FindRuns(ctx context.Context, q session.RunQuery, page session.Page) ([]*session.Run, string, error) {
	rows, next, err := e.cfg.Store.RunLister.FindRuns(ctx, q, page)
	if err != nil {
		return nil, "", storeError("list runs of all sessions", err)
	}
	return rows, next, nil
}

// Follow reads a run of a session from its first event, or after the event with a
// given id. It fails with ErrUnknownEvent if the run has no such event.
func (e *Engine) Follow(ctx context.Context, key session.Key, id, afterEvent string) (*Reader, error) {
	row, err := e.Run(ctx, key, id)
	if err != nil {
		return nil, err
	}
	after := int64(0)
	if afterEvent != "" {
		entries, err := e.entries(ctx, row, 0)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if ev, err := entry.Decode(); err == nil && ev.ID == afterEvent {
				after = entry.Seq
			}
		}
		if after == 0 {
			return nil, ErrUnknownEvent
		}
	}
	return e.newReader(row, after), nil
}

// FollowAfter is like Follow after the event with a sequence number.
func (e *Engine) FollowAfter(ctx context.Context, key session.Key, id string, after int64) (*Reader, error) {
	row, err := e.Run(ctx, key, id)
	if err != nil {
		return nil, err
	}
	return e.newReader(row, after), nil
}

// entries returns the stored events of a run with a greater sequence number than
// after, without its message.
func (e *Engine) entries(ctx context.Context, row *session.Run, after int64) ([]*session.Entry, error) {
	if row.First == 0 {
		return nil, nil
	}
	s, err := e.cfg.Store.Get(ctx, row.Key, session.Read{After: max(after, row.First)})
	if err != nil {
		return nil, storeError("read the session", err)
	}
	var found []*session.Entry
	for _, entry := range s.Entries {
		if row.Last != 0 && entry.Seq > row.Last {
			break
		}
		if ev, err := entry.Decode(); err == nil && ev.InvocationID == row.ID {
			found = append(found, entry)
		}
	}
	return found, nil
}
