package run

import (
	"context"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// Resumption returns the run that resumes a run which waits: the newest one whose
// message has answered something that it waits for. It returns nil if there is none.
func (e *Engine) Resumption(ctx context.Context, waiting *session.Run) (*session.Run, error) {
	rows, _, err := e.Runs(ctx, waiting.Key, session.Page{Size: waitingPage})
	if err != nil {
		return nil, err
	}
	for _, row := range rows { // the newest is the first
		if row.Resumes == waiting.ID {
			return row, nil
		}
		if row.First > waiting.First && !row.Status.Ended() { // it tells what it resumes when it ends
			answers, err := e.answers(ctx, waiting, row)
			if answers || err != nil {
				return row, err
			}
		}
	}
	if waiting.ResumedBy != "" {
		return e.Run(ctx, waiting.Key, waiting.ResumedBy)
	}
	return nil, nil
}

// answers reports whether the message of a run answers a call of another one.
func (e *Engine) answers(ctx context.Context, asked, row *session.Run) (bool, error) {
	s, err := e.cfg.Store.Get(ctx, row.Key, session.Read{After: asked.First - 1})
	if err != nil {
		return false, storeError("read the session", err)
	}
	calls := map[string]bool{}
	for _, entry := range s.Seen() {
		ev, err := entry.Decode()
		switch {
		case err != nil:
			return false, err
		case ev.InvocationID == asked.ID:
			for _, call := range ev.FunctionCalls() {
				calls[call.ID] = true
			}
		case ev.InvocationID == row.ID && ev.Author == event.User:
			for _, r := range ev.FunctionResponses() {
				if calls[r.ID] {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// Resumptions reads the run that resumes another one, on any server. It must be used
// by one goroutine, and closed.
type Resumptions struct {
	reader  *Reader // for its notifications
	waiting *session.Run
}

// AwaitResumption returns a reader of the run that resumes a run which waits, for a
// client that waits with it.
func (e *Engine) AwaitResumption(waiting *session.Run) *Resumptions {
	r := &Reader{engine: e, key: waiting.Key}
	r.listen()
	return &Resumptions{reader: r, waiting: waiting}
}

// Take returns the run that resumes the other one, if there is one, or the other one
// itself if it has ended without. It fails with ErrClosing if the server shuts down.
func (r *Resumptions) Take(ctx context.Context) (*session.Run, bool, error) {
	e := r.reader.engine
	ctx = session.Insist(ctx)
	row, err := e.Run(ctx, r.waiting.Key, r.waiting.ID)
	if err != nil {
		return nil, false, r.reader.failed(err)
	}
	next, err := e.Resumption(ctx, row)
	switch {
	case err != nil:
		return nil, false, r.reader.failed(err)
	case next != nil:
		return next, true, nil
	case row.Status != session.Waiting:
		return row, true, nil
	case e.Closing():
		return nil, false, ErrClosing
	}
	if r.reader.again == nil {
		r.reader.again = time.AfterFunc(readAgain, r.reader.wake)
	} else {
		r.reader.again.Reset(readAgain)
	}
	return nil, false, nil
}

// Ready receives a value when Take may return a run.
func (r *Resumptions) Ready() <-chan struct{} { return r.reader.ready }

// Begun reports that the client may be told that the server waits.
func (r *Resumptions) Begun() bool { return true }

// Close releases the reader.
func (r *Resumptions) Close() { r.reader.Close() }
