package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/session"
)

// Cut selects how much of a session a fork has: everything up to an event,
// everything before an invocation, or all of it if neither is set.
type Cut struct{ AtEvent, BeforeInvocation string }

// of returns the entries of a session that remain, and the last visible one of
// them, or nil.
func (c Cut) of(s *session.Session) (log []*session.Entry, last *session.Entry, err error) {
	seen := s.Seen()
	n := len(seen)
	find := func(is func(*event.Event) bool) int {
		return slices.IndexFunc(seen, func(entry *session.Entry) bool {
			ev, err := entry.Decode()
			return err == nil && is(ev)
		})
	}
	log = s.Entries
	switch {
	case c.AtEvent != "":
		n = find(func(ev *event.Event) bool { return ev.ID == c.AtEvent }) + 1
		if n == 0 {
			return nil, nil, ErrUnknownEvent
		}
		log = s.Entries[:seen[n-1].Seq]
	case c.BeforeInvocation != "":
		n = find(func(ev *event.Event) bool { return ev.InvocationID == c.BeforeInvocation })
		if n < 0 {
			return nil, nil, ErrUnknownEvent
		}
		log = s.Entries[:seen[n].Seq-1]
	}
	if n > 0 {
		last = seen[n-1]
	}
	return log, last, nil
}

// Fork creates a session as a copy of an earlier state of another one, and records
// its origin. Calls that were open at that point are closed as interrupted, unless
// they wait for an answer from outside. The fork has copies of all current files of
// the other session.
func (e *Engine) Fork(ctx context.Context, from session.Key, at Cut, id string) (*session.Session, error) {
	s, err := e.cfg.Store.Get(ctx, from, session.Read{Initial: true})
	if err != nil {
		return nil, storeError("read the session", err)
	}
	cut, last, err := at.of(s)
	if err != nil {
		return nil, err
	}
	origin := &session.Origin{Session: from.ID, Root: from.ID}
	if s.Origin != nil {
		origin.Root = s.Origin.Root
	}
	if last != nil {
		if ev, err := last.Decode(); err == nil {
			origin.Event = ev.ID
		}
	}
	log := make([]*session.Entry, len(cut))
	for i, entry := range cut {
		log[i] = &session.Entry{JSON: entry.JSON}
	}
	closed, err := CloseCalls(cut, e.cfg.Now())
	if err != nil {
		return nil, err
	}
	made, err := e.cfg.Store.Create(ctx, session.NewSession{
		Key: session.Key{App: from.App, User: from.User, ID: id}, State: s.Initial, Log: append(log, closed...), Origin: origin,
	})
	if err != nil {
		return nil, fmt.Errorf("fork session: %w", err)
	}
	if err := e.cfg.Artifacts.Copy(ctx, FilesOf(from), FilesOf(made.Key)); err != nil {
		return nil, errors.Join(err, e.Delete(context.WithoutCancel(ctx), made.Key))
	}
	return made, nil
}

// CloseCalls returns entries that answer, as interrupted, the calls in a log that
// have no answer and will get no other one.
func CloseCalls(log []*session.Entry, now time.Time) ([]*session.Entry, error) {
	return closeCalls(log, now, nil)
}

// closeCalls implements CloseCalls. Calls with the ids in final are open until they
// have a final answer.
func closeCalls(log []*session.Entry, now time.Time, final map[string]bool) ([]*session.Entry, error) {
	var calls []openCall
	places := map[string][]int{} // the open calls, by id
	invocation := ""
	for _, entry := range log {
		ev, err := entry.Decode()
		if err != nil {
			continue
		}
		invocation = ev.InvocationID
		if ev.Content == nil {
			continue
		}
		for _, p := range ev.Content.Parts {
			if call := p.FunctionCall; call != nil {
				places[call.ID] = append(places[call.ID], len(calls))
				calls = append(calls, openCall{id: call.ID, name: call.Name, author: ev.Author, branch: ev.Branch})
			}
			if r := p.FunctionResponse; r != nil && (!final[r.ID] || isFinal(ev, r)) {
				delete(places, r.ID)
			}
		}
	}
	var open []openCall
	for _, i := range slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(places))...))) {
		open = append(open, calls[i])
	}
	var out []*session.Entry
	for _, ev := range answered(open, "interrupted") {
		ev.ID, ev.InvocationID, ev.Timestamp = event.NewID(), invocation, event.Seconds(now)
		entry, err := session.NewEntry(ev)
		if err != nil {
			return nil, err
		}
		out = append(out, entry)
	}
	return out, nil
}

// Rewind resets a session to before one of its invocations: later events are
// hidden, and the session's own state is restored. It fails with a *BusyError while
// a run is active.
func (e *Engine) Rewind(ctx context.Context, key session.Key, invocation string) (*session.Session, error) {
	id := ident.Invocation()
	// It holds the session like a run.
	t := e.newTurn(context.WithoutCancel(ctx), id, &Request{Key: key}, nil, nil)
	if err := e.turns.admit(t, 0); err != nil {
		return nil, err
	}
	defer t.abandon()
	begun, err := e.cfg.Store.Begin(t.recorder.ctx, session.NewRun{
		ID: id, Key: key, Busy: session.Reject, Request: func() ([]byte, error) { return []byte("{}"), nil },
	})
	if err != nil {
		return nil, storeError("rewind the session", err)
	}
	ctx = t.recorder.ctx // end what has begun
	epoch := begun.Run.Epoch
	entry, settled, err := e.rewindTo(ctx, begun.Session, id, invocation)
	end := session.End{Status: session.Completed, Settled: settled, Discard: err != nil}
	if err == nil {
		end.Entries = []*session.Entry{entry}
	}
	queued, failed := e.cfg.Store.End(ctx, key, epoch, end)
	if queued {
		e.workers.do(jobFunc(func() { e.claim(key) }))
	}
	if err = errors.Join(err, failed); err != nil {
		return nil, storeError("rewind the session", err)
	}
	s, err := e.cfg.Store.Get(ctx, key, session.Read{})
	if err != nil {
		return nil, storeError("read the session", err)
	}
	return s, nil
}

// rewindTo returns the entry that rewinds a session, and what changes for waiting
// runs.
func (e *Engine) rewindTo(ctx context.Context, s *session.Session, id, invocation string) (*session.Entry, []session.Settled, error) {
	seen := s.Seen()
	i := slices.IndexFunc(seen, func(entry *session.Entry) bool {
		ev, err := entry.Decode()
		return err == nil && ev.InvocationID == invocation
	})
	if i < 0 {
		return nil, nil, ErrUnknownEvent
	}
	made, err := e.cfg.Store.Get(ctx, s.Key, session.Read{NoEvents: true, Initial: true})
	if err != nil {
		return nil, nil, err
	}
	before := session.StateOf(made.Initial, s.Entries[:seen[i].Seq-1])
	delta := map[string]json.RawMessage{}
	maps.Copy(delta, before)
	for name := range s.State {
		if _, ok := before[name]; !ok && session.ScopeOf(name) == session.ScopeSession {
			delta[name] = json.RawMessage("null")
		}
	}
	maps.DeleteFunc(delta, func(name string, v json.RawMessage) bool { return string(s.State[name]) == string(v) })
	entry, err := session.NewEntry(&event.Event{
		ID: event.NewID(), InvocationID: id, Author: event.User, Timestamp: event.Seconds(e.cfg.Now()),
		Actions: event.Actions{RewindBeforeInvocationID: invocation, StateDelta: delta},
	})
	return entry, rewound(&log{before: seen}, &log{before: seen[:i]}), err
}
