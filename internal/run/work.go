package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/session"
)

// begin is the life of a run that stood in line.
func (r *Run) begin() {
	if err := r.admit(); err != nil {
		r.end(err)
		return
	}
	r.work()
}

// admit takes the session and stores the message. When it fails nothing has
// been stored.
func (r *Run) admit() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() {
		r.refusal = err
		close(r.admitted)
	}()
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	snapshot, epoch, err := r.engine.store.Acquire(r.ctx, r.req.Key)
	if err != nil {
		return storeError("take the session", err)
	}
	r.epoch = epoch
	r.log = newLog(snapshot)
	resume, err := answers(r.log, r.req.Message)
	if err != nil {
		return err
	}
	if resume != nil {
		r.info.Resumes = resume.InvocationID
	}
	r.info.Status = Running
	message := &event.Event{Author: event.User, Content: r.req.Message}
	message.Actions.StateDelta = r.req.StateDelta
	if _, err := r.append(message); err != nil {
		return err
	}
	r.log.resume = resume
	return nil
}

// work runs the agents. It owns the run's goroutine.
func (r *Run) work() {
	inv := &agent.Invocation{
		App: r.req.Key.App, User: r.req.Key.User, Session: r.req.Key.ID, ID: r.id,
		UserContent: r.req.Message, Stream: r.req.Stream, Log: r.log,
		MaxModelCalls: r.engine.calls, Resume: r.log.resume,
	}
	err := func() (err error) {
		defer agent.Recover(&err, "the run", "")
		return inv.Start(r.ctx, r.root, r.emit)
	}()
	if cause := context.Cause(r.ctx); cause != nil && err != nil {
		err = cause
	}
	r.end(err)
}

// emit is where all events of the run come together.
func (r *Run) emit(ev *event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	if ev.Partial {
		if !r.req.Stream {
			return nil
		}
		r.stamp(ev)
		return r.feed.piece(ev)
	}
	entry, err := r.append(ev)
	if err != nil {
		return err
	}
	r.feed.store(entry)
	return nil
}

// stamp fills in what only the run knows.
func (r *Run) stamp(ev *event.Event) {
	ev.InvocationID = r.id
	// Clocks are set back now and then; the log is not.
	r.last = max(r.last, event.Seconds(time.Now()))
	ev.Timestamp = r.last
	if len(r.req.CustomMetadata) > 0 {
		all := maps.Clone(r.req.CustomMetadata)
		maps.Copy(all, ev.CustomMetadata)
		ev.CustomMetadata = all
	}
}

// append encodes an event, stores it, and shows it to the agents. It wants r.mu
// held.
func (r *Run) append(ev *event.Event) (*session.Entry, error) {
	r.stamp(ev)
	ev.ID = event.NewID()
	delta := ev.Actions.StateDelta
	ev.Actions.StateDelta = session.WithoutTemp(delta)
	entry, err := session.NewEntry(ev)
	if err != nil {
		return nil, err
	}
	// The end of a run is stored even when the run was cancelled.
	if err := r.engine.store.Append(r.detached, r.req.Key, r.epoch, entry); err != nil {
		return nil, storeError("append an event", err)
	}
	r.log.append(ev, delta)
	r.account(ev)
	return entry, nil
}

// account keeps the books of the run: tokens, and calls that want an answer.
func (r *Run) account(ev *event.Event) {
	if u := ev.Usage; u != nil {
		r.info.Usage.Prompt += u.Prompt
		r.info.Usage.Candidates += u.Candidates
		r.info.Usage.Total += u.Total
		r.info.Usage.CachedContent += u.CachedContent
		r.info.Usage.Thoughts += u.Thoughts
		r.info.Usage.ToolUsePrompt += u.ToolUsePrompt
	}
	if ev.Content == nil {
		return
	}
	for _, p := range ev.Content.Parts {
		switch {
		case p.FunctionCall != nil:
			r.unanswered = append(r.unanswered, openCall{
				id: p.FunctionCall.ID, name: p.FunctionCall.Name, author: ev.Author, branch: ev.Branch,
				long: slices.Contains(ev.LongRunningToolIDs, p.FunctionCall.ID),
			})
		case p.FunctionResponse != nil:
			r.unanswered = slices.DeleteFunc(r.unanswered, func(c openCall) bool { return c.id == p.FunctionResponse.ID })
		}
	}
}

// end closes the run, once: it makes the log valid, gives the session back,
// tells the readers, and lets the next run begin.
func (r *Run) end(err error) {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	r.over = true
	if r.forced != nil {
		r.forced.Stop()
	}
	if r.refusal == nil {
		r.info.Status, r.info.Failure = r.verdict(err)
		r.seal()
	}
	if r.epoch != 0 {
		if err := r.engine.store.Release(r.detached, r.req.Key, r.epoch); err != nil {
			r.logger().Error("could not release the session", "err", err)
		}
	}
	if !isClosed(r.admitted) { // it was cancelled before its turn came
		r.refusal = err
		if errors.Is(err, errShutdown) {
			r.refusal = ErrClosing // it was never taken
		}
		close(r.admitted)
	}
	r.info.Ended = time.Now()
	r.log = nil // readers of an ended run need the feed only
	refused := r.refusal != nil
	r.mu.Unlock()

	r.cancel(errOver)
	r.feed.end()
	r.engine.next(r, refused)
	close(r.done)
	r.engine.wg.Done()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// verdict is how the run stands after err.
func (r *Run) verdict(err error) (Status, *Failure) {
	if err == nil {
		return Completed, nil
	}
	var (
		soft    *agent.Failure
		crashed *agent.Panic
		store   *StoreError
	)
	switch {
	case errors.Is(err, agent.ErrWaiting):
		return Waiting, nil
	case errors.Is(err, ErrCancelled), errors.Is(err, errShutdown):
		return Cancelled, &Failure{Type: "cancelled", Message: err.Error()}
	case errors.As(err, &soft):
		return Failed, &Failure{Type: soft.Code, Message: soft.Message, Reported: true}
	case errors.As(err, &crashed):
		r.logger().Error("a panic ended the run", "panic", crashed.String())
		return Failed, &Failure{Type: "panic", Message: crashed.Error()}
	case errors.As(err, &store):
		r.logger().Error("the session store ended the run", "err", store)
		return Failed, &Failure{Type: "store", Message: store.Error()}
	}
	r.logger().Warn("the run failed", "err", err)
	return Failed, &Failure{Type: "agent", Message: err.Error()}
}

func (r *Run) logger() *slog.Logger {
	return r.engine.log.With("run_id", r.id, "app", r.req.Key.App, "user", r.req.Key.User, "session_id", r.req.Key.ID)
}

// Aborted is the error code of the event with which a run ends that could not
// finish.
const Aborted = "INVOCATION_ABORTED"

// seal answers the calls that nobody will answer any more, so that the history
// stays one that models accept. A cancelled run gets a last event in any case.
func (r *Run) seal() {
	if r.log == nil {
		return // it never began
	}
	word := "interrupted"
	if r.info.Status == Cancelled {
		word = "cancelled"
	}
	var last []*event.Event
	for _, call := range r.unanswered {
		if call.long && r.info.Status == Waiting {
			continue
		}
		i := slices.IndexFunc(last, func(ev *event.Event) bool { return ev.Author == call.author && ev.Branch == call.branch })
		if i < 0 {
			i = len(last)
			last = append(last, &event.Event{
				Author: call.author, Branch: call.branch, Content: &event.Content{Role: event.RoleUser},
				ErrorCode: Aborted, ErrorMessage: "The call was " + word + ".",
			})
		}
		last[i].Content.Parts = append(last[i].Content.Parts, &event.Part{FunctionResponse: &event.FunctionResponse{
			ID: call.id, Name: call.name,
			Response: fmt.Appendf(nil, `{"status":%q,"error_message":"The call was %s before it finished."}`, word, word),
		}})
	}
	if len(last) == 0 && r.info.Status == Cancelled {
		last = append(last, &event.Event{Author: r.root.Name(), ErrorCode: Aborted, ErrorMessage: r.info.Failure.Message})
	}
	for _, ev := range last {
		r.close(ev)
	}
}

// close stores an event of a run that is over.
func (r *Run) close(ev *event.Event) {
	entry, err := r.append(ev)
	if err != nil {
		if !errors.Is(err, session.ErrFenced) { // a deleted session needs no end
			r.logger().Error("could not store the end of the run", "err", err)
		}
		return
	}
	r.feed.store(entry)
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

// storeError hides what a store says, except for what callers act on.
func storeError(attempt string, err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return err
	}
	return &StoreError{attempt: attempt, cause: err}
}
