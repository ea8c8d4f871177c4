package face

import (
	"context"
	"errors"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// Task is a run and those that continue it: the answer to a question starts another
// run, and for clients of some protocols both are one piece of work. It is derived from
// the log and the rows of the runs.
type Task struct {
	// Runs has the run that the task began with first, and the one that continued it
	// last at the end.
	Runs []*session.Run
	// Entries are the events of the runs in the log, and Events the same, decoded.
	Entries []*session.Entry
	Events  []*event.Event
	// Seq is the sequence number of the last entry of the log at the time.
	Seq int64
}

// taskReads is how often ReadTask reads a log that grows while it is read.
const taskReads = 5

// ReadTask reads the task that began with a run. It fails with session.ErrRunNotFound
// or session.ErrNotFound if there is none.
func ReadTask(ctx context.Context, h Host, key session.Key, id string) (*Task, error) {
	first, err := h.Engine().Run(ctx, key, id)
	if err != nil {
		return nil, err
	}
	t := &Task{Runs: []*session.Run{first}}
	if first.First == 0 {
		return t, nil
	}
	for range taskReads {
		if t, err = readTask(ctx, h, first); err != nil {
			return nil, err
		}
		// A run that has ended in the meantime may have stored more before that.
		if !slices.ContainsFunc(t.Runs, func(r *session.Run) bool { return r.Last > t.Seq }) {
			break
		}
	}
	return t, nil
}

func readTask(ctx context.Context, h Host, first *session.Run) (*Task, error) {
	s, err := h.Sessions().Get(ctx, first.Key, session.Read{After: first.First - 1})
	if err != nil {
		return nil, err
	}
	t := &Task{Seq: s.Seq}
	ids, calls := []string{first.ID}, map[string]bool{}
	for _, entry := range s.Seen() {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, ev.InvocationID) {
			if ev.Author != event.User || !slices.ContainsFunc(ev.FunctionResponses(), func(r *event.FunctionResponse) bool { return calls[r.ID] }) {
				continue
			}
			ids = append(ids, ev.InvocationID)
		}
		for _, call := range ev.FunctionCalls() {
			calls[call.ID] = true
		}
		t.Entries, t.Events = append(t.Entries, entry), append(t.Events, ev)
	}
	for _, id := range ids {
		row, err := h.Engine().Run(ctx, first.Key, id)
		if errors.Is(err, session.ErrRunNotFound) && id != first.ID {
			continue // it was deleted
		}
		if err != nil {
			return nil, err
		}
		t.Runs = append(t.Runs, row)
	}
	return t, nil
}

// Last returns the run that the task is at.
func (t *Task) Last() *session.Run { return t.Runs[len(t.Runs)-1] }

// Run returns one of the runs, or nil.
func (t *Task) Run(id string) *session.Run {
	for _, r := range t.Runs {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Status returns the status of the task: that of its last run, or Waiting if an earlier
// one still waits.
func (t *Task) Status() session.Status {
	status := t.Last().Status
	if status.Ended() && slices.ContainsFunc(t.Runs, func(r *session.Run) bool { return r.Status == session.Waiting }) {
		return session.Waiting
	}
	return status
}

// Open returns the calls of the task that wait for an answer.
func (t *Task) Open(ctx context.Context, h Host) ([]*run.OpenCall, error) {
	if t.Status() != session.Waiting {
		return nil, nil
	}
	open, err := h.Engine().OpenCalls(ctx, t.Last().Key)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(open, func(call *run.OpenCall) bool { return t.Run(call.Run) == nil }), nil
}

// Steps returns what the runs of the task did.
func (t *Task) Steps() ([]Step, error) {
	var steps []Step
	transcript := &Transcript{}
	for i, entry := range t.Entries {
		if ev := t.Events[i]; ev.Author == event.User {
			continue
		}
		var err error
		if steps, err = transcript.Item(steps, run.Item{JSON: entry.JSON, Entry: entry}); err != nil {
			return nil, err
		}
	}
	return transcript.End(steps), nil
}
