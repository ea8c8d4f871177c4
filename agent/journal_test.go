package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func TestOnlyCallsTogetherAreKept(t *testing.T) {
	t.Parallel()
	p := scene{turns: []string{"go"}, tree: func(w *world) *agent.Agent {
		return w.llm("a", tools(w.tool("once"), w.tool("pure"), w.tool("idempotent")), calls("once"), calls("once", "pure", "idempotent"), scripted.Say("done"))
	}}.play(t)
	if p.flushes != 2 || len(p.notes) != 0 {
		t.Errorf("the journal was stored %d times and holds %q; want two of three calls, and nothing at the end", p.flushes, p.notes)
	}
}

// newPlayed is a run with a message and no more.
func newPlayed() *played {
	p := &played{tape: &tape{id: "run", state: map[string]json.RawMessage{}, notes: map[string][]byte{}, pending: map[string][]byte{}}}
	p.message = event.Text(event.RoleUser, "go")
	p.events = append(p.events, &event.Event{InvocationID: "run", Author: event.User, Content: p.message})
	return p
}

// takeover runs a tree on a log.
func takeover(t *testing.T, root *agent.Agent, events ...*event.Event) (*played, error) {
	t.Helper()
	p := newPlayed()
	p.events = append(p.events, events...)
	inv := &agentrt.Invocation{ID: "run", UserContent: p.message, Log: p.tape, Journal: journal{p.tape}, Takeover: true}
	return p, inv.Start(t.Context(), root, p.emit)
}

func longCall(id string) *event.Event {
	return &event.Event{InvocationID: "run", Author: "a", LongRunningToolIDs: []string{id}, Content: &event.Content{
		Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{ID: id, Name: "once", Args: json.RawMessage("{}")}}},
	}}
}

func TestInterruptedLongRunningCallIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := &world{runs: map[string]int{}}
	root := sequential("all", w.llm("a", tools(w.later("once", nil)), calls("once"), scripted.Say("sorry")), w.llm("b", nil, scripted.Say("b")))
	patch := &event.Event{InvocationID: "p-1", Author: event.User}
	p, err := takeover(t, root, longCall("1"), patch)
	if err != nil || len(w.runs) != 0 {
		t.Errorf("error %v, calls made: %v", err, w.runs)
	}
	wantStory(t, p.events[3:], `
a: once returned `+interrupted+`
a: sorry state{"says_a":"sorry"}
b: b state{"says_b":"b"} (end)`)
}

func TestInterruptedCallDoesNotHoldUpLaterOnes(t *testing.T) {
	t.Parallel()
	w := &world{runs: map[string]int{}}
	root := sequential("all", w.llm("a", tools(w.later("once", nil)), calls("once"), calls("once"), scripted.Say("thanks")), w.llm("b", nil, scripted.Say("b")))
	p, err := takeover(t, root, longCall("1"))
	if !errors.Is(err, agent.ErrWaiting) || len(w.runs) != 1 {
		t.Fatalf("error %v, want that the second call is waited for", err)
	}
	s := scene{tree: func(*world) *agent.Agent { return root }}
	id := p.events[len(p.events)-1].FunctionResponses()[0].ID
	p.message = &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: id, Name: "once", Response: json.RawMessage(`{"ok":true}`)},
	}}}
	p.id, p.resume = "run-2", &agentrt.Resume{Agent: "a", InvocationID: "run"}
	if err := errors.Join(p.emit(&event.Event{Author: event.User, Content: p.message}), s.run(t, p, w, false)); err != nil {
		t.Errorf("after the answer: %v\n%s", err, story(p.events))
	}
}

// A note may be stored with an event of another branch, and the event that it
// is about be lost.
func TestNoteOfALostEventIsRemoved(t *testing.T) {
	t.Parallel()
	p := newPlayed()
	p.notes["callback/a@/0"] = []byte("callback before agent")
	w := &world{}
	root := mustLLM(agent.LLMConfig{Name: "a", Model: w.model(scripted.Say("hello")), BeforeAgent: []agent.Callback{
		func(*tool.Context) (*event.Content, error) { return nil, nil },
	}})
	s := scene{tree: func(*world) *agent.Agent { return root }}
	if err := s.run(t, p, w, true); err != nil || len(p.notes) != 0 {
		t.Errorf("error %v, notes %q", err, p.notes)
	}
}

func TestJournalThatFailsEndsTheRun(t *testing.T) {
	t.Parallel()
	w := &world{runs: map[string]int{}}
	p := newPlayed()
	inv := &agentrt.Invocation{ID: p.id, UserContent: p.message, Log: p.tape, Journal: brokenJournal{journal{p.tape}}}
	err := inv.Start(t.Context(), w.llm("a", tools(w.tool("once"), w.tool("pure")), calls("once", "pure")), p.emit)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("error %v", err)
	}
}

type brokenJournal struct{ journal }

func (brokenJournal) Flush() error { return errors.New("the disk is full") }

func TestTakeoverByAnotherApplication(t *testing.T) {
	t.Parallel()
	w := &world{}
	_, err := takeover(t, w.llm("a", nil), &event.Event{InvocationID: "run", Author: "gone", Content: event.Text(event.RoleModel, "hm")})
	if !errors.Is(err, agent.ErrCannotResume) || !strings.Contains(err.Error(), "agent a, where the log goes on with gone") {
		t.Errorf("error %v", err)
	}
}
