package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
)

// halt ends the run at the request of a client.
func (t *turn) halt(how session.Stop) { t.stop(t.stopCause(how)) }

// stopCause returns the cause with which a run ends on request. A rollback stays a
// rollback.
func (t *turn) stopCause(how session.Stop) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.undo = t.undo || how == session.StopRollback
	if t.undo {
		return errUndone
	}
	return ErrCancelled
}

// interrupt ends the run if it precedes the one that asks. That is unknown until it
// has begun.
func (t *turn) interrupt(by interruption) {
	t.mu.Lock()
	if t.row == nil {
		t.stops = append(t.stops, by)
		t.mu.Unlock()
		return
	}
	earlier := t.row.Number < by.by
	t.mu.Unlock()
	if earlier {
		t.halt(by.how)
	}
}

// forceAfter is how long the end of a run waits for code that ignores its context.
const forceAfter = time.Second

// stop ends the turn. Only the first cause counts.
func (t *turn) stop(cause error) {
	t.cancel(cause)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over && t.forced == nil {
		t.forced = time.AfterFunc(forceAfter, func() { t.end(context.Cause(t.ctx)) })
	}
}

// fenced records that the session has another owner.
func (t *turn) fenced() {
	t.lose()
	t.cancel(errLost)
}

// lose records that another process continues the run.
func (t *turn) lose() {
	t.mu.Lock()
	t.lost = true
	t.mu.Unlock()
}

func (t *turn) isLost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// leave begins the end of the turn. It returns false if that has already begun.
func (t *turn) leave(lost bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.over, t.lost = true, t.lost || lost
	if t.forced != nil {
		t.forced.Stop()
	}
	return true
}

// abandon ends a turn without work; readers continue with what is stored. The turn
// may have been asked to end before, which has no effect.
func (t *turn) abandon() {
	if !t.leave(true) {
		return
	}
	t.held.Store(0)
	t.cancel(errOver)
	t.feed.End()
	t.engine.turns.remove(t)
	close(t.done)
}

// end closes the turn, once: it makes the log valid, releases the session, notifies
// the readers, and starts the next run.
func (t *turn) end(err error) {
	if !t.leave(false) {
		return
	}
	t.recorder.lock() // wait for an append in progress
	t.recorder.closed = true
	t.recorder.quiesce()
	t.mu.Lock()
	t.known()
	t.mu.Unlock()
	t.held.Store(0)
	next := false
	switch {
	case errors.Is(err, errLost) || t.isLost():
		t.lose()
		t.logger().Warn("the run was taken over by another process")
	case errors.Is(err, errHandOver):
		t.lose()
		if err := t.recorder.settle(); err != nil {
			t.logger().Error("could not store the last events of a run that is handed over", "err", err)
		}
		t.handOver()
	default:
		next = t.close(err)
	}
	t.recorder.log = nil // readers of an ended turn need the feed only
	t.recorder.unlock()

	t.mu.Lock()
	t.ended = true
	row, lost, finished := t.row, t.lost, t.trace.finish // the row changes no more
	t.mu.Unlock()
	if !lost {
		t.warnOfCost(row.Models)
	}
	if o := t.engine.cfg.Observer; o != nil {
		o.Ended(row, lost)
	}
	t.cancel(errOver)
	if finished != nil {
		// The trace must be complete before anything that waits for the run
		// continues.
		finished(row.Status, row.Failure)
	}
	t.feed.End()
	t.engine.turns.remove(t)
	t.engine.quota.forget(t.user())
	close(t.done)
	t.next(next)
}

// close ends the run in the store, and reports whether another one is queued. If
// the end cannot be stored, the process that claims the run continues it. The
// recorder's slot must be held.
func (t *turn) close(err error) (next bool) {
	r := &t.recorder
	t.mu.Lock()
	undo := t.undo
	t.mu.Unlock()
	if !r.doubt.Load() && !t.joinsEnd(err) {
		if failed := r.settle(); errors.Is(failed, errLost) {
			t.lose()
			return false
		}
	}
	if r.doubt.Load() {
		r.dropUnstored()
		if failed := t.reread(); failed != nil {
			t.logger().Error("could not find out what is stored of the run", "err", failed)
			if t.engine.cfg.Lease != 0 {
				t.lose()
				return false
			}
			t.feed.DropUnfinished() // they may be stored
		}
	}
	if r.doubt.Load() && err == nil {
		err = errDoubt // the agent has ignored its context
	}
	end := session.End{Resumes: t.row.Resumes, Trace: t.mark()}
	end.Usage, end.Models = t.ledger.usage()
	end.Status, end.Failure = t.verdict(err)
	end.Settled = t.settled(end.Status, undo)
	pending := r.pending
	if len(pending) > 0 {
		end.Entries = entriesOf(pending)
	}
	var events []*event.Event
	if t.row.First != 0 { // its message is stored
		events = t.closingEvents(end.Status, end.Failure, undo)
	}
	for _, ev := range events {
		entry, err := r.entry(ev)
		if err != nil {
			t.logger().Error("could not encode the end of the run", "err", err)
			continue
		}
		end.Entries = append(end.Entries, entry)
	}
	next, failed := t.engine.cfg.Store.End(r.ctx, t.req.Key, r.epoch, end)
	// An end of unknown outcome may still arrive, with the events in it.
	away, _ := errors.AsType[*session.UnavailableError](failed)
	if failed != nil && !errors.Is(failed, session.ErrFenced) && len(pending) > 0 && (away == nil || !away.Doubt) {
		// If it is the events that cannot be stored, the run has failed, as it does
		// when an event before the last cannot.
		if failed := r.settle(); failed != nil {
			err = failed
		}
		if errors.Is(err, errLost) {
			t.lose()
			return false
		}
		return t.close(err)
	}
	if failed != nil && !errors.Is(failed, session.ErrFenced) && errors.Is(err, errAttempts) {
		// Something in the run cannot be stored, and it is unknown what.
		t.logger().Error("could not store the end of the run; it ends without its last events", "err", failed)
		end.Entries, end.Resumes, end.Settled = nil, "", nil
		next, failed = t.engine.cfg.Store.End(r.ctx, t.req.Key, r.epoch, end)
	}
	switch {
	case errors.Is(failed, session.ErrFenced):
		// The session was deleted, or another process has claimed the run.
		_, err := t.engine.cfg.Store.Run(r.ctx, t.req.Key, t.id)
		if len(pending) > 0 || !errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrRunNotFound) {
			t.lose()
			return false
		}
	case failed != nil:
		t.logger().Error("could not store the end of the run", "err", failed)
		if t.engine.cfg.Lease != 0 {
			t.lose()
			return false
		}
		if end.Failure == nil {
			end.Status, end.Failure = session.Failed, &session.Failure{Type: "store", Message: storeError("end the run", failed).Error()}
		}
	default:
		r.show(pending)
		for _, entry := range end.Entries[len(pending):] {
			t.feed.Store(entry)
		}
		if !next { // queued runs may have stored theirs under the same keys
			if err := r.dropTemp(); err != nil {
				t.logger().Error("failed to delete a sealed credential of one run", "err", err)
			}
		}
	}
	t.mu.Lock()
	t.row.Status, t.row.Failure, t.row.Ended = end.Status, end.Failure, t.engine.cfg.Now()
	t.row.Usage, t.row.Models = end.Usage, end.Models
	t.mu.Unlock()
	return next
}

// reread reads what is stored of the run, after an append with an unknown outcome.
// The recorder's slot must be held.
func (t *turn) reread() error {
	r := &t.recorder
	row, err := t.engine.cfg.Store.Run(r.ctx, t.req.Key, t.id)
	if err != nil {
		return err
	}
	entries, err := t.engine.entries(r.ctx, row, 0)
	if err != nil {
		return err
	}
	t.mu.Lock()
	t.row.First = row.First
	t.mu.Unlock()
	t.ledger.reset()
	known := t.feed.LastSeq()
	for _, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			continue
		}
		t.ledger.add(ev)
		if e.Seq > known {
			r.log.append(ev, ev.Actions.StateDelta)
			t.feed.Store(e)
		}
	}
	return nil
}

// giveBack ends a run whose message was refused with err: it deletes the run,
// unless the message may have been stored. In that case the process that claims the
// run decides; if the store is not shared, this process reads it. The recorder's
// slot must be held.
func (t *turn) giveBack(err error) {
	switch {
	case !t.recorder.doubt.Load():
		t.discard()
	case t.engine.cfg.Lease != 0:
		t.handOver()
	case t.reread() == nil && t.row.First != 0:
		t.next(t.close(err))
	default: // if the message is stored after all, no run follows it
		t.discard()
	}
}

func (t *turn) handOver() {
	if err := t.engine.cfg.Store.HandOver(t.recorder.ctx, t.req.Key, t.recorder.epoch); err != nil {
		t.logger().Error("could not hand over the run", "err", err)
	}
}

// discard deletes a run whose message was refused.
func (t *turn) discard() {
	next, err := t.engine.cfg.Store.End(t.recorder.ctx, t.req.Key, t.recorder.epoch, session.End{Discard: true})
	if err != nil && !errors.Is(err, session.ErrFenced) {
		t.logger().Error("could not release the session", "err", err)
	}
	t.next(next)
}

// next starts the next queued run, if any.
func (t *turn) next(queued bool) {
	if queued {
		t.engine.workers.do(jobFunc(func() { t.engine.claim(t.req.Key) }))
	}
}

// verdict returns the outcome of the run after err. A run whose agents all returned
// has still failed if its last event is an error.
func (t *turn) verdict(err error) (session.Status, *session.Failure) {
	if err == nil {
		err = t.ledger.failure()
	}
	if err == nil {
		return session.Completed, nil
	}
	if f := refused(err); f != nil {
		return session.Failed, f
	}
	var (
		soft    *agentrt.Failure
		crashed *agentrt.Panic
		store   *StoreError
		corrupt *session.CorruptError
	)
	switch {
	case errors.Is(err, agent.ErrWaiting):
		return session.Waiting, nil
	case errors.Is(err, ErrCancelled), errors.Is(err, errShutdown):
		return session.Cancelled, &session.Failure{Type: session.FailureCancelled, Message: err.Error()}
	case errors.Is(err, errAttempts):
		t.logger().Error("the run is given up", "attempts", t.row.Attempt)
		return session.Failed, &session.Failure{Type: "attempts", Message: errAttempts.Error()}
	case errors.Is(err, errCrashed):
		t.logger().Error("the run is given up: servers died while they worked on it", "attempts", t.row.Attempt)
		return session.Failed, &session.Failure{Type: Crashed, Message: errCrashed.Error()}
	case errors.Is(err, errTooLong):
		message := fmt.Sprintf("The run was ended because it took longer than %v.", t.engine.cfg.Limits.Duration)
		return session.Failed, &session.Failure{Type: MaxRunDuration, Message: message, Reported: true}
	case errors.As(err, &soft):
		message := agentrt.ScrubText(t.creds, soft.Message)
		t.logger().Warn("the run failed", "code", soft.Code, "err", message)
		return session.Failed, &session.Failure{Type: soft.Code, Message: message, Reported: true}
	case errors.As(err, &crashed):
		t.logger().Error("a panic ended the run", "panic", agentrt.ScrubText(t.creds, crashed.String()))
		return session.Failed, &session.Failure{Type: "panic", Message: crashed.Error()}
	case errors.As(err, &corrupt):
		t.logger().Error("the run failed: the session is damaged", "seq", corrupt.Seq)
		return session.Failed, &session.Failure{Type: Corrupt, Message: corrupt.Error()}
	case errors.As(err, &store):
		t.logger().Error("the session store ended the run", "err", store)
		return session.Failed, &session.Failure{Type: "store", Message: store.Error()}
	}
	message := agentrt.ScrubText(t.creds, err.Error())
	t.logger().Warn("the run failed", "err", message)
	return session.Failed, &session.Failure{Type: "agent", Message: message}
}

// Aborted is the error code of the last event of a run that could not finish.
const Aborted = "INVOCATION_ABORTED"

// Corrupt is the failure type of a run whose session is damaged.
const Corrupt = "corrupt"

// Crashed is the failure type of a run during which MaxDeaths processes have died.
const Crashed = "crashed"

// closingEvents returns the last events of the run. They answer the calls that will
// get no other answer, so that models accept the history, and store what readers
// have seen of incomplete messages. A cancelled run always gets a last event; with
// undo, that event rewinds the run.
func (t *turn) closingEvents(status session.Status, failure *session.Failure, undo bool) []*event.Event {
	word := "interrupted"
	if status == session.Cancelled {
		word = "cancelled"
	}
	open := slices.DeleteFunc(t.ledger.open(), func(c openCall) bool { return c.long && status == session.Waiting })
	last := answered(open, word)
	if len(last) == 0 && status == session.Cancelled {
		last = append(last, &event.Event{Author: t.root.Name(), ErrorCode: Aborted, ErrorMessage: failure.Message})
	}
	if failure != nil && failure.Type == MaxRunDuration && failure.Reported {
		last = append(last, &event.Event{Author: t.root.Name(), ErrorCode: failure.Type, ErrorMessage: failure.Message})
	}
	if undo && status == session.Cancelled {
		last = append(last, &event.Event{Author: t.root.Name(), Actions: event.Actions{
			RewindBeforeInvocationID: t.id, StateDelta: t.recorder.log.inverse(),
		}})
	} else if status == session.Cancelled || status == session.Failed {
		last = append(t.feed.Unfinished(), last...)
	}
	return last
}

// answered returns events that answer calls without a response.
func answered(calls []openCall, word string) []*event.Event {
	var out []*event.Event
	places := map[[2]string]int{} // in out, by author and branch
	for _, call := range calls {
		i, ok := places[[2]string{call.author, call.branch}]
		if !ok {
			i = len(out)
			places[[2]string{call.author, call.branch}] = i
			out = append(out, &event.Event{
				Author: call.author, Branch: call.branch, Content: &event.Content{Role: event.RoleUser},
				ErrorCode: Aborted, ErrorMessage: "The call was " + word + ".",
			})
		}
		out[i].Content.Parts = append(out[i].Content.Parts, &event.Part{FunctionResponse: &event.FunctionResponse{
			ID: call.id, Name: call.name,
			Response: fmt.Appendf(nil, `{"status":%q,"error_message":"The call was %s before it finished."}`, word, word),
		}})
	}
	return out
}

// StoreError is a failure of the session store. Its text is for clients; logs also
// contain the cause.
type StoreError struct {
	attempt string
	cause   error
}

func (e *StoreError) Error() string { return "could not " + e.attempt + ": the session store failed" }
func (e *StoreError) Unwrap() error { return e.cause }

// LogValue includes the cause.
func (e *StoreError) LogValue() slog.Value {
	return slog.StringValue(e.Error() + ": " + e.cause.Error())
}

// errDoubt refuses further appends after one with an unknown outcome: readers could
// not know what precedes them.
var errDoubt error = &StoreError{attempt: "append an event", cause: errors.New("an earlier event may be stored, or not")}

// storeError hides the error of a store, unless callers act on it.
func storeError(attempt string, err error) error {
	if _, busy := errors.AsType[*session.BusyError](err); busy {
		return err
	}
	if damage, corrupt := errors.AsType[*session.CorruptError](err); corrupt {
		return damage
	}
	for _, known := range []error{
		session.ErrNotFound, session.ErrReused, session.ErrQueueFull, session.ErrRunNotFound, session.ErrRunExists, session.ErrBadToken, session.ErrExists,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	return &StoreError{attempt: attempt, cause: err}
}

// IsFault reports whether failures of a type are those of the server rather than of
// the agents.
func IsFault(kind string) bool {
	switch kind {
	case "panic", "store", "attempts", Corrupt, Crashed:
		return true
	}
	return false
}
