package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// failureRejected is the code of the error of an agent that refuses a task.
const failureRejected = "REJECTED"

// status returns the status of a task that is at a run.
func (h handler) status(ctx context.Context, id string, t *face.Task, row *session.Run) (*status, error) {
	st := &status{time: row.Created}
	if row.Status.Ended() && !row.Ended.IsZero() {
		st.time = row.Ended
	}
	tell := func(parts ...part) {
		st.message = &message{id: row.ID + "-status", task: id, context: row.Key.ID, parts: parts}
	}
	switch now := t.Status(); now {
	case session.Queued:
		st.state = submitted
	case session.Running:
		st.state = working
	case session.Completed:
		st.state = completed
	case session.Cancelled:
		st.state = canceled
	case session.Failed:
		st.state = failed
		if run.Refusal(row) != nil || row.Failure != nil && row.Failure.Type == failureRejected {
			st.state = rejected
		}
		if row.Failure != nil {
			tell(textPart(row.Failure.Message))
		}
	case session.Waiting:
		open, err := t.Open(ctx, h)
		if err != nil {
			return nil, err
		}
		var parts []part
		if parts, st.state = asked(open); len(parts) > 0 {
			tell(parts...)
		}
	}
	return st, nil
}

// view returns a task as clients see it.
func (h handler) view(ctx context.Context, id string, t *face.Task, history *int, files bool) (*task, error) {
	row := t.Last()
	st, err := h.status(ctx, id, t, row)
	if err != nil {
		return nil, err
	}
	shown := &task{id: id, context: row.Key.ID, status: *st}
	if files {
		steps, err := t.Steps()
		if err != nil {
			return nil, err
		}
		shown.artifacts = artifacts(steps)
	}
	if history == nil || *history > 0 {
		shown.history = limit(messages(id, row.Key.ID, t), history)
	}
	return shown, nil
}

// messages returns the messages of a task: those of the user, and the questions.
func messages(id, context string, t *face.Task) []*message {
	var list []*message
	for _, ev := range t.Events {
		m := &message{id: ev.ID, task: id, context: context, user: ev.Author == event.User}
		if m.user {
			var own, text string
			if json.Unmarshal(ev.CustomMetadata[messageIDKey], &own) == nil && own != "" {
				m.id = own
			}
			m.parts = messageParts(ev.Content)
			if json.Unmarshal(ev.CustomMetadata[textKey], &text) == nil && text != "" {
				m.parts = []part{textPart(text)}
			}
			list = append(list, m)
			continue
		}
		var open []*run.OpenCall
		for _, call := range ev.FunctionCalls() {
			if face.QuestionOf(call) != nil {
				open = append(open, &run.OpenCall{ID: call.ID, Name: call.Name, Args: call.Args, Run: ev.InvocationID})
			}
		}
		if len(open) > 0 && !waitsFor(t, ev) {
			m.parts, _ = asked(open)
			list = append(list, m)
		}
	}
	return list
}

// waitsFor reports whether an event is of the run that the task waits at: its questions
// are the message of the status.
func waitsFor(t *face.Task, ev *event.Event) bool {
	return t.Status() == session.Waiting && ev.InvocationID == t.Last().ID
}

// limit returns the last messages.
func limit(list []*message, n *int) []*message {
	if n != nil && *n < len(list) {
		return list[len(list)-*n:]
	}
	return list
}

// taskRequest is a request about one task.
type taskRequest struct {
	ID      string `json:"id"`
	History *int   `json:"historyLength"`
}

// read reads the request.
func (q *taskRequest) read(doc []byte) error {
	if err := decode(doc, q); err != nil {
		return err
	}
	if q.ID == "" {
		return invalid("id", "id is missing")
	}
	return nil
}

func (x *exchange) getTask(doc []byte) error {
	var q taskRequest
	if err := q.read(doc); err != nil {
		return err
	}
	return x.get(q.ID, q.History)
}

func (x *exchange) get(id string, history *int) error {
	if history != nil && *history < 0 {
		return invalid("historyLength", "historyLength must not be negative")
	}
	_, t, err := x.readTask(id)
	if err != nil {
		return err
	}
	return x.show(id, t, history)
}

// show answers with a task alone.
func (x *exchange) show(id string, t *face.Task, history *int) error {
	shown, err := x.view(x.ctx(), id, t, history, true)
	if err != nil {
		return err
	}
	o := &object{v: x.v}
	o.task(shown)
	return x.reply(o.dst)
}

func (x *exchange) cancelTask(doc []byte) error {
	var q taskRequest
	if err := q.read(doc); err != nil {
		return err
	}
	return x.cancel(q.ID)
}

// cancelWait is how long a request waits for the end of the run that it cancels.
const cancelWait = 5 * time.Second

func (x *exchange) cancel(id string) error {
	key, t, err := x.readTask(id)
	if err != nil {
		return err
	}
	switch status := t.Status(); {
	case status == session.Waiting:
		_, err = x.Engine().CancelWait(x.ctx(), key, t.Last().ID)
	case status.Ended():
		return fail(taskNotCancelable, "The task has ended")
	default:
		_, err = x.Engine().Cancel(x.ctx(), key, t.Last().ID)
	}
	if err != nil {
		return err
	}
	found, err := x.Engine().Find(x.ctx(), key, t.Last().ID)
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(x.ctx(), cancelWait)
	defer done()
	_, _ = found.Wait(ctx) // it is read again
	if _, t, err = x.readTask(id); err != nil {
		return err
	}
	return x.show(id, t, nil)
}

func (x *exchange) subscribe(doc []byte) error {
	var q taskRequest
	if err := q.read(doc); err != nil {
		return err
	}
	return x.follow(q.ID)
}

// follow streams a task from now on until it ends, however often it waits.
func (x *exchange) follow(id string) error {
	key, t, err := x.readTask(id)
	if err != nil {
		return err
	}
	first, err := x.view(x.ctx(), id, t, nil, true)
	if err != nil {
		return err
	}
	if first.status.state.terminal() {
		return fail(unsupported, "The task has ended: get it, there are no more updates")
	}
	reader, err := x.Engine().FollowAfter(x.ctx(), key, t.Last().ID, t.Seq)
	if errors.Is(err, session.ErrRunNotFound) {
		return notFound(id)
	}
	if err != nil {
		return err
	}
	defer reader.Close()
	return x.stream(key, id, first, reader, nil, func(*session.Run) bool { return true })
}
