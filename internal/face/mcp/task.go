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

// How often clients should ask for a task, and how often the server looks for those
// that subscribe.
const (
	pollMillis = 1000
	pollEvery  = 500 * time.Millisecond
	maxTasks   = 50 // of a subscription
)

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

// state returns the state of a task.
func (e *exchange) state(ctx context.Context, id string) (*task, error) {
	first, last, err := e.theTask(ctx, id)
	if err != nil {
		return nil, err
	}
	t := describe(id, first, last)
	switch last.Status {
	case session.Queued, session.Running:
	case session.Cancelled:
		t.Status = "cancelled"
	case session.Waiting:
		questions, err := e.questions(ctx, last.Key)
		if err != nil {
			return nil, err
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
			return t, nil
		}
		ended, err := e.Engine().Find(ctx, last.Key, last.ID)
		if err != nil {
			return nil, err
		}
		reader := ended.Read()
		defer reader.Close()
		steps, row, err := face.Collect(ctx, reader)
		if err != nil {
			return nil, err
		}
		got := &outcome{}
		for i := range steps {
			got.add(&steps[i])
		}
		t.Status, t.Result = "completed", got.result(row)
	}
	return t, nil
}

// taskParams decodes the parameters of a method of the extension.
func (e *exchange) taskParams(into any) error {
	if !e.can.tasks() {
		return errNoTasks
	}
	return e.params(into)
}

var errNoTasks = &rpcError{
	status: http.StatusBadRequest, Code: missingCapability, Message: "Missing required client capability: " + tasksExtension,
	Data: map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}}},
}

type named struct {
	ID        string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
}

func (e *exchange) getTask() (any, error) {
	var p named
	if err := e.taskParams(&p); err != nil {
		return nil, err
	}
	return e.state(e.r.Context(), p.ID)
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
		_, err = e.respond(last.Key, who.Caller, last, func(q *face.Question) *event.Part { return replyTo(q, p.Responses[q.ID], e.version) })
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
	if last.Status == session.Waiting {
		_, err = e.Engine().CancelWait(e.r.Context(), last.Key, last.ID)
	} else {
		_, err = e.Engine().Cancel(e.r.Context(), last.Key, last.ID)
	}
	return struct{}{}, err
}

// listen sends the changes of tasks until the client disconnects. Other notifications
// do not exist here.
func (e *exchange) listen() (any, error) {
	var p struct {
		Notifications struct {
			Tasks []string `json:"taskIds"`
		} `json:"notifications"`
	}
	if err := e.params(&p); err != nil {
		return nil, err
	}
	ids := p.Notifications.Tasks
	switch {
	case len(ids) > 0 && !e.can.tasks():
		return nil, errNoTasks
	case len(ids) > maxTasks:
		return nil, invalid("Invalid params: a subscription has at most %d tasks", maxTasks)
	case e.out == nil:
		return nil, invalid("Invalid request: the client must accept text/event-stream")
	}
	ctx, cancel := e.UntilExpiry(e.r)
	defer cancel()
	defer e.Streaming()()
	known := map[string]string{} // the last status of each task
	agreed := []string{}
	for _, id := range ids {
		if _, _, err := e.theTask(ctx, id); err == nil {
			agreed = append(agreed, id)
			known[id] = ""
		}
	}
	about := map[string]any{subscriptionKey: e.in.ID}
	accepted := map[string]any{}
	if len(ids) > 0 {
		accepted["taskIds"] = agreed
	}
	if e.notify("notifications/subscriptions/acknowledged", "", map[string]any{"_meta": about, "notifications": accepted}) != nil {
		return nil, nil
	}
	look := &watch{e: e, known: known, about: about}
	look.timer = time.NewTimer(0)
	defer look.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil
		case <-look.timer.C:
			if err := look.once(ctx); err != nil {
				return nil, nil // the client has disconnected, or subscribes again
			}
			look.timer.Reset(pollEvery)
		}
		if e.Engine().Closing() {
			return map[string]any{"_meta": about}, nil
		}
	}
}

// watch sends the changes of tasks.
type watch struct {
	e     *exchange
	known map[string]string
	about map[string]any
	timer *time.Timer
	quiet int
}

// keepAlive is after how many looks without a change the client gets a comment.
const keepAlive = 30

func (w *watch) once(ctx context.Context) error {
	w.quiet++
	for id, before := range w.known {
		t, err := w.e.state(ctx, id)
		if err != nil {
			return err
		}
		if status := t.Status + " " + t.Updated; status != before {
			w.known[id], w.quiet = status, 0
			t.Meta = w.about
			if err := w.e.notify("notifications/tasks", "", t); err != nil {
				return err
			}
		}
		if t.Status == "completed" || t.Status == "failed" || t.Status == "cancelled" {
			delete(w.known, id)
		}
	}
	if w.quiet >= keepAlive {
		w.quiet = 0
		return w.e.out.Send([]byte(": keep-alive\n\n"))
	}
	return nil
}
