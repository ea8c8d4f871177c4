package agentengine

import (
	"context"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// aborted is the error code of events that end what could not finish.
const aborted = "INVOCATION_ABORTED"

// seal answers calls that will get no answer, because the process that made them
// has ended or could not reach the service: models do not accept a history with a
// call without a result. Calls that are answered from outside stay open. The mirror
// must be held.
func (s *backend) seal(ctx context.Context, m *mirror) error {
	if _, busy := s.Holds(m.key); !m.loose || busy {
		return nil
	}
	known, err := s.Backend.Get(ctx, m.key, session.Read{})
	if err != nil {
		return err
	}
	for _, ev := range answers(known.Seen()) {
		ev.ID, ev.Timestamp = event.NewID(), event.Seconds(time.Now())
		entry, err := session.NewEntry(ev)
		if err != nil {
			return err
		}
		answer := []*session.Entry{entry}
		if err := s.extend(ctx, m, answer, func() error { return s.Backend.Patch(ctx, m.key, entry) }); err != nil {
			return err
		}
	}
	m.loose = false
	return nil
}

// answers returns events that answer the open calls of a log, one for each event
// with such calls.
func answers(log []*session.Entry) []*event.Event {
	answered := map[string]bool{}
	var out []*event.Event
	for _, e := range slices.Backward(log) {
		ev, err := e.Decode()
		if err != nil {
			continue
		}
		for _, r := range ev.FunctionResponses() {
			answered[r.ID] = true
		}
		var parts []*event.Part
		for _, call := range ev.FunctionCalls() {
			if answered[call.ID] || slices.Contains(ev.LongRunningToolIDs, call.ID) {
				continue
			}
			parts = append(parts, &event.Part{FunctionResponse: &event.FunctionResponse{
				ID: call.ID, Name: call.Name,
				Response: []byte(`{"status":"interrupted","error_message":"The call was interrupted before it finished; it may or may not have taken effect."}`),
			}})
		}
		if len(parts) > 0 {
			out = append(out, &event.Event{
				InvocationID: ev.InvocationID, Author: ev.Author, Branch: ev.Branch,
				Content:   &event.Content{Role: event.RoleUser, Parts: parts},
				ErrorCode: aborted, ErrorMessage: "The call was interrupted.",
			})
		}
	}
	slices.Reverse(out)
	return out
}
