package run

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
)

// talk makes runs with calls, of which some wait for an answer from outside.
type talk struct {
	*rand.Rand
	runs, calls int
	open        []string
}

func (m *talk) event(run, author string, parts ...*event.Part) *event.Event {
	return &event.Event{ID: event.NewID(), InvocationID: run, Author: author, Content: &event.Content{Parts: parts}}
}

// run is a run that answers one of the open calls, if there is one.
func (m *talk) run() (id string, events []*event.Event) {
	m.runs++
	id = fmt.Sprint("run-", m.runs)
	message := m.event(id, event.User, &event.Part{Text: "hi"})
	if len(m.open) > 0 && m.IntN(3) > 0 {
		i := m.IntN(len(m.open))
		response := `{"confirmed":true}`
		if m.IntN(5) == 0 {
			response = `{"status":"pending"}`
		}
		message.Content.Parts = []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: m.open[i], Name: "f", Response: json.RawMessage(response)}}}
		m.open = slices.Delete(m.open, i, i+1)
	}
	events = append(events, message)
	for range m.IntN(3) {
		m.calls++
		call := fmt.Sprint("call-", m.calls)
		asks := m.event(id, "a", &event.Part{FunctionCall: &event.FunctionCall{ID: call, Name: "f"}})
		events = append(events, asks)
		response := `{"ok":true}`
		switch m.IntN(3) {
		case 0:
			asks.LongRunningToolIDs = []string{call}
			m.open = append(m.open, call)
			response = `{"status":"pending"}`
		case 1:
			response = agentrt.Expired
		}
		if m.IntN(4) > 0 {
			events = append(events, m.event(id, "a", &event.Part{FunctionResponse: &event.FunctionResponse{ID: call, Name: "f", Response: json.RawMessage(response)}}))
		}
	}
	return id, append(events, m.event(id, "a", &event.Part{Text: "done"}))
}

// What is kept of the waits of a session gives the same as a reading of the whole log,
// however the log has grown, and reads what is new.
func TestOpenWaitsAreWhatTheLogSays(t *testing.T) {
	for seed := range uint64(60) {
		m := &talk{Rand: rand.New(rand.NewPCG(seed, 1))}
		kept := &openWaits{}
		var events []*event.Event
		found := 0
		for range 60 {
			if m.IntN(12) == 0 && len(events) > 0 { // a rewind
				events = slices.Clip(events[:m.IntN(len(events))])
			}
			before := slices.Clone(events)
			id, added := m.run()
			events = append(events, added...)
			if m.IntN(4) == 0 {
				continue // it resumes nothing
			}
			got := kept.answeredBy(id, &log{events: events}, len(before))
			var want []session.Settled
			open := waitsIn(&log{events: events}).unanswered()
			for _, run := range waitsIn(&log{events: before}).unanswered() {
				if !slices.Contains(open, run) {
					want = append(want, session.Settled{Run: run, Status: session.Completed, By: id})
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d: %s has ended %v, want %v", seed, id, got, want)
			}
			found += len(got)
			if len(kept.waits.of) > len(open)+len(kept.waits.calls)+10 {
				t.Fatalf("seed %d: %d runs are kept, and %d have open calls", seed, len(kept.waits.of), len(open))
			}
		}
		if found == 0 {
			t.Errorf("seed %d: no wait was ended", seed)
		}
	}
}

// An answer in a long session reads as many events as one in a short session.
func TestAnswerReadsOnlyNewEvents(t *testing.T) {
	m := &talk{Rand: rand.New(rand.NewPCG(1, 1))}
	kept, most := &openWaits{}, 0
	var events []*event.Event
	for n := range 2000 {
		first := len(events)
		id, added := m.run()
		events = append(events, added...)
		was := kept.read
		kept.answeredBy(id, &log{events: events}, first)
		if kept.read < was {
			t.Fatalf("run %d has read the log again", n)
		}
		most = max(most, kept.read-was)
	}
	if most > 10 {
		t.Errorf("an answer has read %d events", most)
	}
}
