package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// scene is a conversation that is played to its end, and then again and again
// with a crash at every moment of it.
type scene struct {
	tree     func(w *world) *agent.Agent
	turns    []string // a text, or "answer <tool>" for the answer to a long-running call
	maxCalls int64
	// lost names the agent that cannot go on after an event of an author.
	lost map[string]string
	from int // the first moments are left out, by the number of events
	// numbered means that the model gives ids to calls, and gives them again.
	numbered bool
	retries  bool              // functions are run more than once
	call     *agentrt.ToolCall // what the run does that begins, instead of asking a model
	anyOrder bool              // parallel branches lead to one node, whose runs are numbered in the order of their ends
}

// byFunction reports whether a node that is not an agent's has emitted ev.
func byFunction(ev *event.Event) bool {
	info, ok := agentrt.NodeOf(ev)
	return ok && !info.MessageAsOutput && (ev.Extra["output"] != nil || !strings.HasPrefix(ev.Author, "llm_"))
}

// runOf identifies the run of the node that has emitted ev.
func runOf(ev *event.Event) string {
	info, _ := agentrt.NodeOf(ev)
	return info.Scope()
}

// played is one run that has ended.
type played struct {
	*tape
	message *event.Content
	resume  *agentrt.Resume
	first   int // the place of the message
	err     error
}

func (s scene) play(t *testing.T) *played {
	t.Helper()
	var p *played
	tp := &tape{state: map[string]json.RawMessage{}}
	for i, text := range s.turns {
		tp.id, tp.notes, tp.pending, tp.moments = fmt.Sprintf("run-%d", i+1), map[string][]byte{}, map[string][]byte{}, nil
		p = &played{tape: tp, first: len(tp.events)}
		p.message, p.resume = messageOf(t, tp, text)
		if err := tp.emit(&event.Event{Author: event.User, Content: p.message}); err != nil {
			t.Fatal(err)
		}
		p.err = s.run(t, p, &world{runs: map[string]int{}}, false)
		s.crash(t, p, 1)
	}
	return p
}

func messageOf(t *testing.T, tp *tape, text string) (*event.Content, *agentrt.Resume) {
	t.Helper()
	command, name, ok := strings.Cut(text, " ")
	if !ok {
		return event.Text(event.RoleUser, text), nil
	}
	if command != "answer" {
		return decisionOf(t, tp, name, command == "approve")
	}
	answered := map[string]bool{}
	for _, ev := range tp.events {
		for _, r := range ev.FunctionResponses() {
			answered[r.ID] = answered[r.ID] || ev.Author == event.User
		}
	}
	for _, ev := range tp.events {
		for _, call := range ev.FunctionCalls() {
			if call.Name == name && !answered[call.ID] {
				return &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
					FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: name, Response: json.RawMessage(`{"ok":true}`)},
				}}}, &agentrt.Resume{Agent: agentrt.Waiter(ev), InvocationID: ev.InvocationID}
			}
		}
	}
	t.Fatalf("there is no call of %s in\n%s", name, story(tp.events))
	return nil, nil
}

// decisionOf is the message that approves or rejects the call of a tool.
func decisionOf(t *testing.T, tp *tape, name string, approve bool) (*event.Content, *agentrt.Resume) {
	t.Helper()
	id := questions(t, tp.events)[name]
	for _, ev := range tp.events {
		for _, call := range ev.FunctionCalls() {
			if call.ID == id {
				return &event.Content{Role: event.RoleUser, Parts: []*event.Part{decide(id, fmt.Sprintf(`{"confirmed":%t}`, approve))}},
					&agentrt.Resume{Agent: agentrt.Waiter(ev), InvocationID: ev.InvocationID}
			}
		}
	}
	t.Fatalf("no question about %s in\n%s", name, story(tp.events))
	return nil, nil
}

func (s scene) run(t *testing.T, p *played, w *world, takeover bool) error {
	t.Helper()
	inv := &agentrt.Invocation{
		App: "app", User: "u", Session: "s", ID: p.id, UserContent: p.message, Log: p.tape, Journal: journal{p.tape},
		Resume: p.resume, Takeover: takeover, MaxModelCalls: s.maxCalls, Credentials: p.logins(),
	}
	if s.call != nil && p.resume == nil {
		inv.Call = s.call
	}
	err := inv.Start(t.Context(), s.tree(w), p.emit)
	if soft := (*agentrt.Failure)(nil); err != nil && !errors.Is(err, agent.ErrWaiting) && !errors.Is(err, agent.ErrCannotResume) && !errors.As(err, &soft) {
		t.Fatalf("the run failed: %v\n%s", err, story(p.events))
	}
	return err
}

// logins are the credentials that the server has stored: those that users have
// answered with.
func (p *played) logins() *fakeCredentials {
	d := &fakeCredentials{keys: map[string]string{}}
	for _, ev := range p.events {
		for _, r := range ev.FunctionResponses() {
			if ev.Author == event.User && tool.IsCredentialCall(r.Name) {
				d.keys["k"] = "token"
			}
		}
	}
	return d
}

// crash takes the run over from every moment of it, and what came of that from
// every moment of that.
func (s scene) crash(t *testing.T, p *played, depth int) {
	t.Helper()
	for _, at := range p.moments {
		if at.events < s.from {
			continue
		}
		w := &world{runs: map[string]int{}}
		again := &played{tape: p.cut(t, at), message: p.message, resume: p.resume, first: p.first}
		again.err = s.run(t, again, w, true)
		if lost := s.lost[p.events[at.events-1].Author]; lost != "" && !p.events[at.events-1].Actions.EndOfAgent {
			if !errors.Is(again.err, agent.ErrCannotResume) || len(again.events) != at.events || !strings.HasPrefix(again.err.Error(), "agent "+lost+":") {
				t.Errorf("after %d events: the end is %v, want it to be that %s is lost", at.events, again.err, lost)
			}
			continue
		}
		if fmt.Sprint(again.err) != fmt.Sprint(p.err) {
			t.Errorf("after %d events: the end is %v, without the crash %v", at.events, again.err, p.err)
		}
		expected := p.expect(at)
		if diff := cmp.Diff(s.byBranch(expected), s.byBranch(again.events[p.first:])); diff != "" {
			t.Errorf("after %d events and notes %q (-without the crash, +with):\n%s", at.events, at.notes, diff)
		}
		s.account(t, w, again, at)
		if t.Failed() {
			t.Fatalf("the log was:\n%s", story(p.events[:at.events]))
		}
		if depth > 0 {
			s.crash(t, again, depth-1)
		}
	}
}

// under are the calls that were in progress, by id, and whose result is not known.
func (p *played) under(at moment) map[string]string {
	open := p.approved()
	maps.DeleteFunc(open, func(id, name string) bool { return effectOf(name) == tool.Once && at.notes["begun/"+id] == nil })
	for _, ev := range p.events[p.first:at.events] {
		for _, call := range ev.FunctionCalls() {
			open[call.ID] = call.Name
		}
		for _, r := range ev.FunctionResponses() {
			delete(open, r.ID)
		}
	}
	maps.DeleteFunc(open, func(id, _ string) bool { return at.notes["call/"+id] != nil })
	return open
}

// unmade reports whether a call that the message lets be made has not begun.
func (p *played) unmade(id string, at moment) bool {
	if effectOf(p.approved()[id]) != tool.Once || at.notes["begun/"+id] != nil || at.notes["call/"+id] != nil {
		return false
	}
	for _, ev := range p.events[p.first+1 : at.events] {
		for _, r := range ev.FunctionResponses() {
			if r.ID == id {
				return false
			}
		}
	}
	return true
}

// approved are the calls that the message lets be made, by id.
func (p *played) approved() map[string]string {
	calls := map[string]string{}
	for _, r := range p.message.FunctionResponses() {
		if r.Name != tool.ConfirmationCall || string(r.Response) != `{"confirmed":true}` {
			continue
		}
		for _, ev := range p.events[:p.first] {
			for _, call := range ev.FunctionCalls() {
				var args struct {
					OriginalFunctionCall struct{ ID, Name string }
				}
				if call.ID == r.ID && json.Unmarshal(call.Args, &args) == nil {
					calls[args.OriginalFunctionCall.ID] = args.OriginalFunctionCall.Name
				}
			}
		}
	}
	return calls
}

const interrupted = `{"status":"interrupted","error_message":"The call was interrupted before it finished; it may or may not have taken effect."}`

// expect is what the log should be after a crash: the same, but for calls that
// were in progress and must not be made twice.
func (p *played) expect(at moment) []*event.Event {
	under := p.under(at)
	var want []*event.Event
	for i, ev := range p.events[p.first:] {
		patched := *ev
		if ev.Content != nil && p.first+i >= at.events {
			patched.Content = &event.Content{Role: ev.Content.Role}
			patched.Actions.StateDelta = maps.Clone(ev.Actions.StateDelta)
			for _, part := range ev.Content.Parts {
				if r := part.FunctionResponse; r != nil && under[r.ID] != "" {
					if effectOf(r.Name) == tool.Once && !agentrt.Unmade(ev, r) {
						delete(patched.Actions.StateDelta, r.Name)
						part = &event.Part{FunctionResponse: &event.FunctionResponse{ID: r.ID, Name: r.Name, Response: json.RawMessage(interrupted)}}
					}
					delete(under, r.ID)
				}
				patched.Content.Parts = append(patched.Content.Parts, part)
			}
		}
		want = append(want, &patched)
	}
	return want
}

// account checks what the second process did.
func (s scene) account(t *testing.T, w *world, p *played, at moment) {
	t.Helper()
	answers := map[string]int{}
	made := map[string]int{} // 0 for those that must not be made
	under := p.under(at)
	known := map[string]bool{} // calls of nodes whose results are in the notes
	said := 0
	for id, name := range p.approved() {
		if under[id] != "" && effectOf(name).Repeatable() || p.unmade(id, at) {
			made[id]++
		}
	}
	for i, ev := range p.events[p.first:] {
		fresh := p.first+i >= at.events
		if calls := ev.FunctionCalls(); len(calls) > 0 && (calls[0].Name == tool.ConfirmationCall || calls[0].Name == tool.InputCall || tool.IsCredentialCall(calls[0].Name)) {
			for _, call := range calls {
				answers[call.ID]++ // by the user, later
			}
			continue
		}
		for _, call := range ev.FunctionCalls() {
			switch {
			case strings.Contains(call.Name, "transfer") || strings.Contains(call.Name, "agent") || call.Name == "finish_task" || strings.Contains(call.Name, "missing"):
			case byFunction(ev): // the tool of a node, which was called before
				// The event of another node may have stored the note before the call.
				known[call.ID] = !fresh || at.notes["call/"+call.ID] != nil
			case fresh, under[call.ID] != "" && effectOf(call.Name).Repeatable():
				made[call.ID]++
			}
		}
		for _, r := range ev.FunctionResponses() {
			if answers[r.ID]++; fresh && !known[r.ID] && strings.HasPrefix(r.ID, p.id+":") {
				made[r.ID]++ // by a node, which calls a tool without saying so
			}
			if agentrt.Unmade(ev, r) {
				delete(made, r.ID)
			}
		}
		if fresh && s.call == nil && !byFunction(ev) && len(ev.FunctionResponses()) == 0 && (ev.Content != nil || ev.ErrorCode == "REFUSED") && !strings.HasPrefix(ev.Content.Text(), "callback") {
			said++
		}
	}
	for _, ev := range p.events[:at.events] {
		if key := runOf(ev); byFunction(ev) && len(ev.LongRunningToolIDs) == 0 && ev.Actions.EndOfAgent || ev.Extra["output"] != nil {
			if w.functions[key] > 0 {
				t.Errorf("after %d events: the function %s has ended, and is run again", at.events, key)
			}
		}
	}
	for key, n := range w.functions {
		if n > 1 && !s.retries {
			t.Errorf("after %d events: the function %s is run %d times", at.events, key, n)
		}
	}
	if w.asked != said {
		t.Errorf("after %d events: models were asked %d times for %d answers", at.events, w.asked, said)
	}
	if s.numbered {
		return
	}
	if diff := cmp.Diff(made, w.runs); diff != "" {
		t.Errorf("after %d events: calls made (-want +got):\n%s", at.events, diff)
	}
	for _, ev := range p.events[p.first:] {
		for _, call := range ev.FunctionCalls() {
			if answers[call.ID] != 1 {
				t.Errorf("after %d events: the call %s of %s has %d answers", at.events, call.ID, call.Name, answers[call.ID])
			}
		}
	}
}

var (
	freshID   = regexp.MustCompile(`"(id|interruptId)":"[^"]*"`)
	runNumber = regexp.MustCompile(`"runId":"[^"]*"`)
)

// byBranch returns the story of each branch: the order between branches is undefined.
func (s scene) byBranch(events []*event.Event) map[string][]string {
	lines := map[string][]string{}
	for _, ev := range events {
		line := freshID.ReplaceAllString(story([]*event.Event{ev}), `"id":""`)
		if ev.Extra["nodeInfo"] != nil {
			line += fmt.Sprintf(" %s %s %s %t", ev.Extra["nodeInfo"], ev.Extra["output"], ev.Actions.Extra["route"], ev.Actions.EndOfAgent)
		}
		if s.anyOrder {
			line = runNumber.ReplaceAllString(line, `"runId":""`)
		}
		lines[ev.Branch] = append(lines[ev.Branch], line)
	}
	return lines
}
