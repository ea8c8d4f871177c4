package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
)

// countedLog counts how many events are read.
type countedLog struct {
	*agentrt.PrivateLog
	read int
}

func (l *countedLog) At(i int) *event.Event {
	l.read++
	return l.PrivateLog.At(i)
}

// asJSON is what a model would be sent.
func asJSON(t *testing.T, contents []*event.Content) []string {
	t.Helper()
	var out []string
	for _, c := range contents {
		doc, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(doc))
	}
	return out
}

// mess makes events of everything that builders treat in a way of its own.
type mess struct {
	*rand.Rand
	calls []string
}

func (m *mess) id() string {
	if len(m.calls) == 0 || m.IntN(9) == 0 {
		return "unknown"
	}
	if m.IntN(3) > 0 {
		return m.calls[len(m.calls)-1]
	}
	return m.calls[m.IntN(len(m.calls))]
}

func (m *mess) part(author string) *event.Part {
	text := fmt.Sprint("text ", m.IntN(1000))
	switch m.IntN(6) {
	case 0:
		return &event.Part{Text: text, Thought: true}
	case 1, 2:
		if author == event.User {
			break
		}
		id := newCallID()
		switch m.IntN(3) {
		case 0:
			id += "-0" // the model has given another one
		case 1:
			id = fmt.Sprint("id", m.IntN(50)) // which may come again
		}
		m.calls = append(m.calls, id)
		return &event.Part{FunctionCall: &event.FunctionCall{ID: id, Name: m.name(), Args: json.RawMessage(`{}`)}}
	case 3, 4:
		return &event.Part{FunctionResponse: &event.FunctionResponse{ID: m.id(), Name: m.name(), Response: json.RawMessage(`{"text":"` + text + `"}`)}}
	}
	return &event.Part{Text: text}
}

func (m *mess) name() string {
	if m.IntN(8) == 0 {
		return "adk_request_confirmation"
	}
	return "f"
}

func (m *mess) event() *event.Event {
	pick := func(of ...string) string { return of[m.IntN(len(of))] }
	ev := &event.Event{ID: event.NewID(), Author: pick(event.User, "a", "a", "a", "b"), Branch: pick("", "", "", "p.a", "p.b")}
	if m.IntN(10) == 0 {
		return ev // only changes the state
	}
	if m.IntN(10) == 0 {
		ev.Extra = map[string]json.RawMessage{agentrt.ScopeMember: json.RawMessage(`"` + pick("x", "y") + `"`)}
	}
	ev.Content = &event.Content{Role: event.RoleUser}
	for range 1 + m.IntN(3) {
		ev.Content.Parts = append(ev.Content.Parts, m.part(ev.Author))
	}
	return ev
}

// A view has the same contents as a reading of the whole log, however the log has
// grown, and requests that were made before stay as they are.
func TestViewIsWhatTheLogSays(t *testing.T) {
	keys := []viewKey{{"a", "", ""}, {"b", "", ""}, {"a", "p.a", ""}, {"a", "", "x"}}
	for seed := range uint64(40) {
		m := &mess{Rand: rand.New(rand.NewPCG(seed, 1))}
		var events []*event.Event
		all := map[viewKey]*view{}
		for range 40 {
			if m.IntN(8) == 0 && len(events) > 0 { // a rewind
				at := m.IntN(len(events))
				to := min(len(events), at+1+m.IntN(9))
				events = slices.Delete(slices.Clone(events), at, to)
			}
			for range m.IntN(5) {
				events = append(events, m.event())
			}
			log := agentrt.NewPrivateLog(nil, slices.Clone(events))
			for _, key := range keys {
				if all[key] == nil {
					all[key] = &view{}
				}
				before := slices.Clone(all[key].given)
				said := asJSON(t, before)
				b := builder{agent: key.agent, isolation: key.isolation}
				want := asJSON(t, b.read(log, key.branch, IncludeAll, nil))
				got := all[key].contents(log, key)
				if !slices.Equal(asJSON(t, got), want) {
					t.Fatalf("seed %d, %+v: got\n%q\nwant\n%q", seed, key, asJSON(t, got), want)
				}
				if !slices.Equal(asJSON(t, before), said) {
					t.Fatalf("seed %d, %+v: an earlier request was changed", seed, key)
				}
				clear(got) // the slice is the caller's
			}
		}
	}
}

// lastReader is a model that looks at the last content only.
type lastReader struct{ seen int }

func (*lastReader) Name() string { return "last-reader" }

func (r *lastReader) Generate(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	r.seen = len(req.Contents())
	return func(yield func(*model.Response, error) bool) { yield(model.Text("yes"), nil) }
}

// A turn of a long session reads as many events as one of a short session.
func TestTurnReadsOnlyNewEvents(t *testing.T) {
	m := &lastReader{}
	root := Must(NewLLM(LLMConfig{Name: "a", Model: m}))
	log := &countedLog{PrivateLog: agentrt.NewPrivateLog(nil, nil)}
	read := map[int]int{}
	for turn := range 1001 {
		message := event.Text(event.RoleUser, "hi")
		if err := log.Emit(&event.Event{Author: event.User, Content: message}); err != nil {
			t.Fatal(err)
		}
		log.read = 0
		inv := &agentrt.Invocation{ID: fmt.Sprint(turn), UserContent: message, Log: log}
		if err := inv.Start(t.Context(), root, log.Emit); err != nil {
			t.Fatal(err)
		}
		if want := 2*turn + 1; m.seen != want {
			t.Fatalf("turn %d: the model saw %d contents, want %d", turn, m.seen, want)
		}
		read[turn] = log.read
	}
	if short, long := read[100], read[1000]; long != short || long > 10 {
		t.Errorf("turn 100 read %d events, and turn 1000 read %d", short, long)
	}
}

// A log has a bounded number of views.
func TestViewsAreBounded(t *testing.T) {
	log := agentrt.NewPrivateLog(nil, make([]*event.Event, minView))
	for i := range 3 * maxViews {
		if viewOf(log, viewKey{agent: fmt.Sprint(i)}) == nil {
			t.Fatal("there is no view")
		}
	}
	kept, _ := log.Derived(nil).(*views)
	if kept == nil || len(kept.all) != maxViews {
		t.Errorf("the log keeps %+v", kept)
	}
	if viewOf(agentrt.NewPrivateLog(nil, make([]*event.Event, minView-1)), viewKey{}) != nil {
		t.Error("a short log keeps a view")
	}
}
