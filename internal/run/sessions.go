package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// Create creates a session of an application, with a state and with imported
// events. The events must be a history that this server could have written: whole,
// every call answered, and without side effects.
func (e *Engine) Create(ctx context.Context, made session.NewSession, events []*event.Event) (*session.Session, error) {
	return e.CreateWaiting(ctx, made, events, nil)
}

// CreateWaiting is like Create for a history with calls of the client's own tools that
// have no answer yet: the message of a run answers them. open has their ids.
func (e *Engine) CreateWaiting(ctx context.Context, made session.NewSession, events []*event.Event, open []string) (*session.Session, error) {
	if _, err := e.cfg.Agent(made.Key.App); errors.Is(err, ErrUnknownApp) {
		return nil, err // an application that does not work may be repaired before the session is used
	}
	if err := checkState("state", made.State); err != nil {
		return nil, err
	}
	entries := make([]*session.Entry, 0, len(events))
	ids := map[string]bool{}
	answered := answersIn(events)
	for i, ev := range events {
		if err := importable(i, ev, answered, open); err != nil {
			return nil, err
		}
		await(ev, open)
		if ev.ID == "" || ids[ev.ID] {
			ev.ID = event.NewID()
		}
		ids[ev.ID] = true
		if ev.Timestamp == 0 {
			ev.Timestamp = event.Seconds(e.cfg.Now())
		}
		entry, err := session.NewEntry(ev)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	made.Log = entries
	if made.TTL > 0 {
		e.upkeep.startSweep()
	}
	s, err := e.create(ctx, made)
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	return s, nil
}

// answersIn returns the positions of the final answers among events, by the ids of
// the calls that they answer.
func answersIn(events []*event.Event) map[string][]int {
	found := map[string][]int{}
	for i, ev := range events {
		for _, r := range ev.FunctionResponses() {
			if !r.Interim() {
				found[r.ID] = append(found[r.ID], i)
			}
		}
	}
	return found
}

// await marks those calls of an event as waiting that are open.
func await(ev *event.Event, open []string) {
	for _, call := range ev.FunctionCalls() {
		if !slices.Contains(open, call.ID) {
			continue
		}
		ev.LongRunningToolIDs = append(ev.LongRunningToolIDs, call.ID)
		if ev.InvocationID == "" {
			ev.InvocationID = ident.Invocation() // the answer refers to it
		}
	}
}

// importable checks an event, and corrects differences of other servers.
func importable(i int, ev *event.Event, answered map[string][]int, open []string) error {
	if ev.Timestamp >= 1e11 { // milliseconds
		ev.Timestamp /= 1000
	}
	odd := oddIDs(ev)
	switch {
	case ev.Author == "":
		return &ImportError{i, "needs an author"}
	case odd != "":
		return &ImportError{i, odd}
	case ev.Timestamp < 0 || ev.Timestamp >= 1e10:
		return &ImportError{i, "has a timestamp that is not a time in seconds"}
	case ev.Content != nil && ev.Content.Role != event.RoleUser && ev.Content.Role != event.RoleModel:
		return &ImportError{i, "has a content whose role is neither user nor model"}
	case len(ev.LongRunningToolIDs) > 0:
		return &ImportError{i, "cannot include long-running tool IDs"}
	case !ev.Actions.Empty():
		return &ImportError{i, "cannot include event actions"}
	case ev.Partial:
		return &ImportError{i, "cannot be partial"}
	}
	if name := question(ev); name != "" {
		return &ImportError{i, fmt.Sprintf("has a call of %q or a response to one: only the server makes such calls", name)}
	}
	for _, call := range ev.FunctionCalls() {
		all := answered[call.ID]
		before, _ := slices.BinarySearch(all, i+1)
		answers := len(all) - before
		if answers == 0 && slices.Contains(open, call.ID) {
			continue
		}
		if answers != 1 {
			return &ImportError{i, fmt.Sprintf("has a function call %q (%s) with %d responses, where there must be one", call.Name, call.ID, answers)}
		}
	}
	return nil
}

// Patch changes a session's state outside of a run, and records the change as an
// event. It returns the new session.
func (e *Engine) Patch(ctx context.Context, key session.Key, delta map[string]json.RawMessage) (*session.Session, error) {
	if err := checkState("stateDelta", delta); err != nil {
		return nil, err
	}
	delta = sessionrt.WithoutTemp(delta)
	if creds := e.credentials(key); creds != nil && len(delta) > 0 {
		s, err := e.cfg.Store.Get(ctx, key, session.Read{NoEvents: true})
		if err != nil {
			return nil, fmt.Errorf("patch session: %w", err)
		}
		if err := checkMarkers(delta, s.State); err != nil {
			return nil, err
		}
		if delta, err = sealed(ctx, creds, delta, current(s.State)); err != nil {
			return nil, fmt.Errorf("patch session: %w", err)
		}
	}
	ev := &event.Event{
		ID: event.NewID(), InvocationID: ident.Patch(), Author: event.User, Timestamp: event.Seconds(e.cfg.Now()),
		Actions: event.Actions{StateDelta: delta},
	}
	entry, err := session.NewEntry(ev)
	if err != nil {
		return nil, err
	}
	if err := e.cfg.Store.Patch(ctx, key, entry); err != nil {
		return nil, fmt.Errorf("patch session: %w", err)
	}
	return e.cfg.Store.Get(ctx, key, session.Read{})
}

// deleteAfter is how long a deletion waits for runs to end.
const deleteAfter = 5 * time.Second

// Delete deletes a session. It cancels its runs first; runs that do not end in time
// can no longer write.
func (e *Engine) Delete(ctx context.Context, key session.Key) error {
	wait, cancel := context.WithTimeout(ctx, deleteAfter)
	defer cancel()
	if err := e.cancelAll(wait, key); err != nil && wait.Err() == nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	// Delete the files first: a failed deletion can be repeated as long as the
	// session exists.
	if err := e.cfg.Artifacts.Remove(ctx, FilesOf(key)); err != nil {
		return err
	}
	if err := e.cfg.Store.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	e.forgotten(key)
	e.turns.wake(key.Hint())
	return nil
}

// cancelAll cancels the runs of a session and waits for them.
func (e *Engine) cancelAll(ctx context.Context, key session.Key) error {
	for {
		rows, _, err := e.cfg.Store.ListRuns(ctx, key, session.Page{})
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		if err != nil {
			return storeError("list the runs", err)
		}
		rows = slices.DeleteFunc(rows, func(r *session.Run) bool { return r.Status.Ended() })
		if len(rows) == 0 {
			return nil
		}
		// Cancel queued runs first, so that none of them begins.
		for _, row := range rows {
			if _, err := e.Cancel(ctx, key, row.ID); err != nil && !errors.Is(err, session.ErrRunNotFound) {
				return err
			}
		}
		for _, row := range rows {
			if _, err := e.handle(row, false).Wait(ctx); ctx.Err() != nil {
				return err
			}
		}
	}
}
