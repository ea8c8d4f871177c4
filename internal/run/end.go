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
	"github.com/parley-run/parley/tool"
)

// halt ends the run because somebody has asked for it.
func (t *task) halt(how session.Stop) {
	t.mu.Lock()
	t.rollback = t.rollback || how == session.StopRollback
	cause := t.cause()
	t.mu.Unlock()
	t.stop(cause)
}

func (t *task) cause() error {
	if t.rollback {
		return errUndone
	}
	return ErrCancelled
}

// forceAfter is how long code that does not listen to its context is waited for
// before the run ends without it.
const forceAfter = time.Second

// stop ends the task, for the first reason that comes.
func (t *task) stop(cause error) {
	t.cancel(cause)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over && t.forced == nil {
		t.forced = time.AfterFunc(forceAfter, func() { t.end(context.Cause(t.ctx)) })
	}
}

// end closes the task, once: it makes the log valid, gives the session back,
// tells the readers, and lets the next run begin.
func (t *task) end(err error) {
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return
	}
	t.over = true
	t.held.Store(0)
	if t.forced != nil {
		t.forced.Stop()
	}
	next := false
	switch {
	case errors.Is(err, errLost) || t.lost:
		t.lost = true
		t.logger().Warn("the run was taken over by somebody else")
	case errors.Is(err, errHandOver):
		t.lost = true
		t.handOver()
	default:
		next = t.close(err)
	}
	if o := t.engine.observer; o != nil {
		o.Ended(&t.row, t.lost)
	}
	t.log = nil // readers of a task that is over need the feed only
	finished, status, failure := t.finished, t.row.Status, t.row.Failure
	t.mu.Unlock()

	t.cancel(errOver)
	if finished != nil {
		// Whoever waits for the run, or for all of them, finds its trace whole.
		finished(status, failure)
	}
	t.feed.end()
	t.engine.leave(t)
	t.engine.ledger.forget(t.req.Key)
	close(t.done)
	t.next(next)
}

// close ends the run in the store, and reports whether another one is in line.
// An end that could not be stored is none: whoever claims the run goes on with
// it. It wants t.mu held.
func (t *task) close(err error) (next bool) {
	if t.doubt {
		if failed := t.reread(); failed != nil {
			t.logger().Error("could not find out what is stored of the run", "err", failed)
			if t.engine.lease != 0 {
				t.lost = true
				return false
			}
			t.feed.drop() // a message that seems unfinished may be stored
		}
	}
	if t.doubt && err == nil {
		err = errDoubt // which the agent has not taken for an answer
	}
	end := session.End{Usage: t.usage(), Resumes: t.row.Resumes}
	end.Status, end.Failure = t.verdict(err)
	end.Settled = t.settled(end.Status)
	var events []*event.Event
	if t.row.First != 0 { // its message is stored
		events = t.seal(end.Status, end.Failure)
	}
	for _, ev := range events {
		entry, err := t.entry(ev)
		if err != nil {
			t.logger().Error("could not encode the end of the run", "err", err)
			continue
		}
		end.Entries = append(end.Entries, entry)
	}
	next, failed := t.engine.store.End(t.detached, t.req.Key, t.epoch, end)
	if failed != nil && !errors.Is(failed, session.ErrFenced) && errors.Is(err, errAttempts) {
		// Something about the run cannot be stored, and it is not known what.
		t.logger().Error("could not store the end of the run; it ends without its last events", "err", failed)
		end.Entries, end.Resumes, end.Settled = nil, "", nil
		next, failed = t.engine.store.End(t.detached, t.req.Key, t.epoch, end)
	}
	switch {
	case errors.Is(failed, session.ErrFenced):
		// The session was deleted, or somebody else has taken the run.
		_, err := t.engine.store.Run(t.detached, t.req.Key, t.id)
		if !errors.Is(err, session.ErrNotFound) && !errors.Is(err, session.ErrRunNotFound) {
			t.lost = true
			return false
		}
	case failed != nil:
		t.logger().Error("could not store the end of the run", "err", failed)
		if t.engine.lease != 0 {
			t.lost = true
			return false
		}
		if end.Failure == nil {
			end.Status, end.Failure = session.Failed, &session.Failure{Type: "store", Message: storeError("end the run", failed).Error()}
		}
	default:
		for _, entry := range end.Entries {
			t.feed.store(entry)
		}
		if !next { // those in line may have put theirs in the same place
			t.dropTemp()
		}
	}
	t.row.Status, t.row.Failure, t.row.Usage, t.row.Ended = end.Status, end.Failure, end.Usage, t.engine.now()
	return next
}

// reread finds out what is stored of the run, after an append of which nobody
// knows whether it was done. It wants t.mu held.
func (t *task) reread() error {
	row, err := t.engine.store.Run(t.detached, t.req.Key, t.id)
	if err != nil {
		return err
	}
	entries, err := t.engine.entries(t.detached, row, 0)
	if err != nil {
		return err
	}
	t.row.First, t.row.Usage, t.unanswered, t.errors = row.First, event.Usage{}, nil, nil
	known := t.feed.last()
	for _, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			continue
		}
		t.account(ev)
		if e.Seq > known {
			t.log.append(ev, ev.Actions.StateDelta)
			t.feed.store(e)
		}
	}
	return nil
}

// giveBack ends a run whose message was not accepted because of err: it is
// forgotten, unless the message may be stored after all. Then whoever claims the
// run finds out; of a store that is this process's alone nobody would, so it is
// done here. It wants t.mu held.
func (t *task) giveBack(err error) {
	switch {
	case !t.doubt:
		t.discard()
	case t.engine.lease != 0:
		t.handOver()
	case t.reread() == nil && t.row.First != 0:
		t.next(t.close(err))
	default: // if the message turns up later, it is one that no run has followed
		t.discard()
	}
}

func (t *task) handOver() {
	if err := t.engine.store.HandOver(t.detached, t.req.Key, t.epoch); err != nil {
		t.logger().Error("could not hand over the run", "err", err)
	}
}

// discard forgets a run whose message was refused.
func (t *task) discard() {
	next, err := t.engine.store.End(t.detached, t.req.Key, t.epoch, session.End{Discard: true})
	if err != nil && !errors.Is(err, session.ErrFenced) {
		t.logger().Error("could not give the session back", "err", err)
	}
	t.next(next)
}

// next lets the run begin that is next in line, if there is one.
func (t *task) next(queued bool) {
	if queued {
		t.engine.do(func() { t.engine.claim(t.req.Key) })
	}
}

// verdict is how the run stands after err. A run whose agents came to their end
// has failed all the same if the last thing that was said is an error.
func (t *task) verdict(err error) (session.Status, *session.Failure) {
	if err == nil && len(t.errors) > 0 {
		err = &agentrt.Failure{Code: t.errors[0].code, Message: t.errors[0].message}
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
		return session.Cancelled, &session.Failure{Type: "cancelled", Message: err.Error()}
	case errors.Is(err, errAttempts):
		t.logger().Error("the run is given up", "attempts", t.row.Attempt)
		return session.Failed, &session.Failure{Type: "attempts", Message: errAttempts.Error()}
	case errors.Is(err, errCrashed):
		t.logger().Error("the run is given up: servers died while they worked on it", "attempts", t.row.Attempt)
		return session.Failed, &session.Failure{Type: Crashed, Message: errCrashed.Error()}
	case errors.Is(err, errTooLong):
		message := fmt.Sprintf("The run was ended because it took longer than %v.", t.engine.limits.Duration)
		return session.Failed, &session.Failure{Type: MaxRunDuration, Message: message, Reported: true}
	case errors.As(err, &soft):
		message := tool.ScrubText(t.wallet, soft.Message)
		t.logger().Warn("the run failed", "code", soft.Code, "err", message)
		return session.Failed, &session.Failure{Type: soft.Code, Message: message, Reported: true}
	case errors.As(err, &crashed):
		t.logger().Error("a panic ended the run", "panic", tool.ScrubText(t.wallet, crashed.String()))
		return session.Failed, &session.Failure{Type: "panic", Message: crashed.Error()}
	case errors.As(err, &corrupt):
		t.logger().Error("the run failed: the session is damaged", "seq", corrupt.Seq)
		return session.Failed, &session.Failure{Type: Corrupt, Message: corrupt.Error()}
	case errors.As(err, &store):
		t.logger().Error("the session store ended the run", "err", store)
		return session.Failed, &session.Failure{Type: "store", Message: store.Error()}
	}
	message := tool.ScrubText(t.wallet, err.Error())
	t.logger().Warn("the run failed", "err", message)
	return session.Failed, &session.Failure{Type: "agent", Message: message}
}

// Aborted is the error code of the event with which a run ends that could not
// finish.
const Aborted = "INVOCATION_ABORTED"

// Corrupt is the type of the failure of a run whose session is damaged.
const Corrupt = "corrupt"

// Crashed is the type of the failure of a run that MaxDeaths processes have died
// with.
const Crashed = "crashed"

// seal answers the calls that nobody will answer any more, so that the history
// stays one that models accept, and keeps what was shown of messages that are not
// going to be complete. A cancelled run gets a last event in any case, and one
// that is to leave nothing takes itself back.
func (t *task) seal(status session.Status, failure *session.Failure) []*event.Event {
	word := "interrupted"
	if status == session.Cancelled {
		word = "cancelled"
	}
	open := slices.DeleteFunc(slices.Clone(t.unanswered), func(c openCall) bool { return c.long && status == session.Waiting })
	last := answered(open, word)
	if len(last) == 0 && status == session.Cancelled {
		last = append(last, &event.Event{Author: t.root.Name(), ErrorCode: Aborted, ErrorMessage: failure.Message})
	}
	if failure != nil && failure.Type == MaxRunDuration && failure.Reported {
		last = append(last, &event.Event{Author: t.root.Name(), ErrorCode: failure.Type, ErrorMessage: failure.Message})
	}
	if t.rollback && status == session.Cancelled {
		last = append(last, &event.Event{Author: t.root.Name(), Actions: event.Actions{
			RewindBeforeInvocationID: t.id, StateDelta: t.log.inverse(),
		}})
	} else if status == session.Cancelled || status == session.Failed {
		last = append(t.feed.unfinished(), last...)
	}
	return last
}

// answered are events that answer calls which have no answer.
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

// StoreError is a failure of the session store. Its text is for clients; the
// cause is for the log.
type StoreError struct {
	attempt string
	cause   error
}

func (e *StoreError) Error() string { return "could not " + e.attempt + ": the session store failed" }
func (e *StoreError) Unwrap() error { return e.cause }

// LogValue is the whole truth.
func (e *StoreError) LogValue() slog.Value {
	return slog.StringValue(e.Error() + ": " + e.cause.Error())
}

// errDoubt refuses to store anything after an append of which nobody knows
// whether it was done: readers could not be told what comes before it.
var errDoubt error = &StoreError{attempt: "append an event", cause: errors.New("an earlier event may be stored, or not")}

// storeError hides what a store says, except for what callers act on.
func storeError(attempt string, err error) error {
	if _, busy := errors.AsType[*session.BusyError](err); busy {
		return err
	}
	if damage, corrupt := errors.AsType[*session.CorruptError](err); corrupt {
		return damage
	}
	for _, known := range []error{
		session.ErrNotFound, session.ErrReused, session.ErrQueueFull, session.ErrRunNotFound, session.ErrBadToken, session.ErrExists,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, known) {
			return err
		}
	}
	return &StoreError{attempt: attempt, cause: err}
}
