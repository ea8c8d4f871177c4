package aisdk

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// newEncoder returns the encoder of a run that begins a message.
func newEncoder(id string) *encoder {
	return &encoder{
		run: id, message: id, replay: true,
		calls: map[string]*face.Step{}, shown: map[string]bool{}, questions: map[string]*face.Question{}, state: map[string]json.RawMessage{},
	}
}

// encoder returns the encoder of a run that may continue a message. to is the message
// that the client has and continues; nil for a client that builds the message from its
// beginning.
func (s *server) encoder(ctx context.Context, key session.Key, id string, to *message) (*encoder, error) {
	e := newEncoder(id)
	if to != nil {
		e.message, e.replay = to.ID, false
		for _, p := range to.Parts {
			if p.CallID != "" {
				e.shown[p.CallID] = true
			}
		}
	}
	entries, err := s.chain(ctx, key, id)
	if err != nil || len(entries) == 0 {
		return e, err
	}
	if to == nil {
		e.message = entries[0].run
	}
	var t face.Transcript
	for _, entry := range entries {
		steps, err := t.Item(nil, run.Item{Entry: entry.Entry, JSON: entry.JSON})
		if err != nil {
			return nil, err
		}
		if e.replay || entry.run == id {
			e.before = append(e.before, steps...)
			continue
		}
		for i := range steps {
			e.learn(&steps[i])
		}
	}
	if e.replay {
		e.before = t.End(e.before)
	}
	return e, nil
}

// answers reports whether an event is a message with answers only. A text that answers
// a question is a message of the user for the client, which expects a new one.
func answers(ev *event.Event) bool {
	return ev.Author == event.User && ev.Content != nil && len(ev.Content.Parts) > 0 &&
		!slices.ContainsFunc(ev.Content.Parts, func(p *event.Part) bool { return p.FunctionResponse == nil })
}

// link is an entry of a run in a chain.
type link struct {
	*session.Entry
	run string
}

// chain returns the entries of the runs that a run continues with its answers, in
// their order, and its message. It is empty if the message answers nothing.
func (s *server) chain(ctx context.Context, key session.Key, id string) ([]link, error) {
	row, err := s.Engine().Run(ctx, key, id)
	if err != nil {
		return nil, err
	}
	if row.First == 0 {
		return nil, nil // it is queued
	}
	read, err := s.Sessions().Get(ctx, key, session.Read{After: row.First - 1})
	if errors.Is(err, session.ErrNotFound) || err == nil && len(read.Entries) == 0 {
		return nil, nil // deleted in the meantime
	}
	if err != nil {
		return nil, err
	}
	if first, err := read.Entries[0].Decode(); err != nil || !answers(first) {
		return nil, err
	}
	if read, err = s.Sessions().Get(ctx, key, session.Read{}); err != nil {
		return nil, err
	}
	asked := map[string]string{}     // runs by their calls
	continues := map[string]string{} // earlier runs by later ones
	var all []link
	for _, entry := range read.Entries {
		if entry.Seq > row.First {
			break
		}
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		all = append(all, link{entry, ev.InvocationID})
		for _, call := range ev.FunctionCalls() {
			asked[call.ID] = ev.InvocationID
		}
		if !answers(ev) {
			continue
		}
		for _, r := range ev.FunctionResponses() {
			if before := asked[r.ID]; before != "" && before != ev.InvocationID {
				continues[ev.InvocationID] = before
			}
		}
	}
	runs := []string{id}
	for before := continues[id]; before != "" && !slices.Contains(runs, before); before = continues[before] {
		runs = append(runs, before)
	}
	return slices.DeleteFunc(all, func(l link) bool { return !slices.Contains(runs, l.run) }), nil
}
