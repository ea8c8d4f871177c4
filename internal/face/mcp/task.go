package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// pollMillis is how often clients should ask for a task.
const pollMillis = 1000

// patience calls a function when a call has waited long enough to become a task, unless
// that is stopped before. A client that could use tasks gets short answers, and first
// questions, without asking again.
var patience = func(_ *http.Request, over func()) (stop func() bool) { return time.AfterFunc(time.Second, over).Stop }

// task is a run as the extension for tasks has it.
type task struct {
	Type     string                   `json:"resultType,omitempty"`
	ID       string                   `json:"taskId"`
	Status   string                   `json:"status"`
	Created  string                   `json:"createdAt"`
	Updated  string                   `json:"lastUpdatedAt"`
	TTL      *int                     `json:"ttlMs"` // null: it is kept as long as its session
	Poll     int                      `json:"pollIntervalMs"`
	Requests map[string]*inputRequest `json:"inputRequests,omitempty"`
	Result   *toolResult              `json:"result,omitempty"`
	Error    *rpcError                `json:"error,omitempty"`
	Meta     map[string]any           `json:"_meta,omitempty"` // of a notification
}

func taskID(row session.Key, run string) string { return face.Handle(row.ID, run) }

// newTask returns the task of a run, which is stored.
func (e *exchange) newTask(started *run.Run) (any, error) {
	row, err := e.Engine().Run(e.r.Context(), started.Key(), started.ID())
	if err != nil {
		return nil, err
	}
	t := describe(taskID(row.Key, row.ID), row, row)
	t.Type, t.Status = "task", "working"
	return t, nil
}

// soon returns the result of a run that ends soon, or what it asks by then, and a task
// for any other.
func (e *exchange) soon(started *run.Run) (any, error) {
	ctx, cancel := context.WithCancelCause(e.r.Context())
	defer cancel(nil)
	defer patience(e.r, func() { cancel(errSlow) })()
	e.out = nil // the answer is one message
	current := started
	for {
		got, row, err := e.read(ctx, current)
		var next *session.Run
		var questions []*face.Question
		if err == nil && row.Status == session.Waiting {
			next, questions, err = e.resumption(ctx, row)
		}
		switch {
		case errors.Is(context.Cause(ctx), errSlow):
			return e.newTask(started)
		case err != nil:
			return nil, e.broken(ctx, current, err)
		case row.Status != session.Waiting:
			return got.result(row), nil
		case next == nil && len(questions) > 0:
			return e.asks(got, row, questions)
		case next == nil:
			return e.newTask(started) // what it waits for may take long
		}
		if current, err = e.Engine().Find(e.r.Context(), next.Key, next.ID); err != nil {
			return nil, err
		}
	}
}

var errSlow = errors.New("the run takes longer")

// describe returns a task that began with a run and has come to another.
func describe(id string, first, last *session.Run) *task {
	updated := last.Created
	if !last.Ended.IsZero() {
		updated = last.Ended
	}
	const format = "2006-01-02T15:04:05.000Z"
	return &task{ID: id, Status: "working", Created: first.Created.UTC().Format(format), Updated: updated.UTC().Format(format), Poll: pollMillis}
}

// theTask returns the runs of a task: the first, and the one that it has come to.
func (e *exchange) theTask(ctx context.Context, id string) (first, last *session.Run, err error) {
	unknown := invalid("Task not found: %s", id)
	names, ok := face.ParseHandle(id, 2)
	if !ok {
		return nil, nil, unknown
	}
	key, _, err := e.key(names[0])
	if err != nil {
		return nil, nil, err
	}
	first, err = e.Engine().Run(ctx, key, names[1])
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrRunNotFound) {
		return nil, nil, unknown
	}
	if err != nil {
		return nil, nil, err
	}
	last = first
	for last.Status == session.Waiting || last.ResumedBy != "" {
		next, err := e.Engine().Resumption(ctx, last)
		if err != nil {
			return nil, nil, err
		}
		if next == nil || next.ID == last.ID {
			break
		}
		last = next
	}
	return first, last, nil
}

// state returns the state of a task, and the run that it has come to.
func (e *exchange) state(ctx context.Context, id string) (*task, *session.Run, error) {
	first, last, err := e.theTask(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	t := describe(id, first, last)
	switch last.Status {
	case session.Queued, session.Running:
	case session.Cancelled:
		t.Status = "cancelled"
	case session.Waiting:
		questions, err := e.questions(ctx, last.Key)
		if err != nil {
			return nil, nil, err
		}
		if len(questions) > 0 {
			if t.Requests = e.requests(questions); t.Requests == nil { // the client cannot ask
				t.Requests = map[string]*inputRequest{}
			}
			t.Status = "input_required"
		}
	case session.Completed, session.Failed:
		if refusal := run.Refusal(last); refusal != nil {
			t.Status, t.Error = "failed", fromProblem(e.Explain(refusal, last.Key))
			return t, last, nil
		}
		if last.Failure != nil && run.IsFault(last.Failure.Type) {
			t.Status, t.Error = "failed", &rpcError{Code: internalError, Message: last.Failure.Message}
			return t, last, nil
		}
		ended, err := e.Engine().Find(ctx, last.Key, last.ID)
		if err != nil {
			return nil, nil, err
		}
		reader := ended.Read()
		defer reader.Close()
		steps, row, err := face.Collect(ctx, reader)
		if err != nil {
			return nil, nil, err
		}
		got := &outcome{}
		for i := range steps {
			got.add(&steps[i])
		}
		t.Status, t.Result = "completed", got.result(row)
	}
	return t, last, nil
}

// taskParams decodes the parameters of a method of the extension.
func (e *exchange) taskParams(into any) error {
	if !e.can.tasks() {
		return errNoTasks
	}
	return e.params(into)
}

var errNoTasks = missing(tasksExtension, map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}})

type named struct {
	ID        string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
}

func (e *exchange) getTask() (any, error) {
	var p named
	if err := e.taskParams(&p); err != nil {
		return nil, err
	}
	t, _, err := e.state(e.r.Context(), p.ID)
	return t, err
}

// updateTask answers the questions of a task. Answers to questions that are not open
// are ignored.
func (e *exchange) updateTask() (any, error) {
	var p named
	if err := e.taskParams(&p); err != nil {
		return nil, err
	}
	_, last, err := e.theTask(e.r.Context(), p.ID)
	if err != nil {
		return nil, err
	}
	_, who, err := e.key("")
	if err != nil {
		return nil, err
	}
	if last.Status == session.Waiting {
		_, err = e.respond(e.r.Context(), last.Key, who.Caller, last, func(q *face.Question) *event.Part { return replyTo(q, p.Responses[q.ID], e.version) })
	}
	return struct{}{}, err
}

func (e *exchange) cancelTask() (any, error) {
	var p named
	if err := e.taskParams(&p); err != nil {
		return nil, err
	}
	_, last, err := e.theTask(e.r.Context(), p.ID)
	if err != nil {
		return nil, err
	}
	return struct{}{}, e.cancel(e.r.Context(), last)
}
