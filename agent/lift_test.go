package agent_test

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	_ "github.com/parley-run/parley/session/sqlite" // for conversations that another server continues
	"github.com/parley-run/parley/tool"
)

// waits are the ids of the calls that wait, by name.
func waits(events []*event.Event) map[string]string {
	found := map[string]string{}
	for _, ev := range events {
		for i, call := range ev.FunctionCalls() {
			if len(ev.LongRunningToolIDs) > i {
				found[call.Name] = call.ID
			}
		}
	}
	return found
}

func inside(name string, m *scripted.Model, tools ...tool.Tool) tool.Tool {
	return agent.AsTool(mustLLM(agent.LLMConfig{Name: name, Model: m, Tools: tools, OutputKey: "said_" + name}))
}

const inner = `inner returned {"message":"inner waits for an answer of the user.","pending":true}`

// An agent that is used as a tool asks through the one that uses it, and goes on
// where it was.
func TestAgentAsToolAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		ask    string
		answer *event.FunctionResponse
		hears  string
	}{
		"approved": {"pay", &event.FunctionResponse{Name: tool.ConfirmationCall, Response: json.RawMessage(`{"confirmed":true}`)}, `{"paid":7}`},
		"rejected": {"pay", &event.FunctionResponse{Name: tool.ConfirmationCall, Response: json.RawMessage(`{"confirmed":false}`)}, `{"error":"This tool call is rejected."}`},
		"input":    {tool.InputCall, &event.FunctionResponse{Name: tool.InputCall, Response: json.RawMessage(`{"result":"four"}`)}, `{"result":"four"}`},
		"later":    {"approve", &event.FunctionResponse{Name: "approve", Response: json.RawMessage(`{"ok":true}`)}, `{"ok":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			within := scripted.New(scripted.Call(tt.ask, json.RawMessage(`{"amount":7,"message":"How many?"}`)), scripted.Say("Inner is done."))
			m := scripted.New(scripted.Call("inner", map[string]string{"request": "Pay."}), scripted.Say("Chatting."), scripted.Say("Outer is done."))
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools(inside("inner", within, l.pay("pay", nil), tool.RequestInput(), later("approve", nil)))}))
			first := c.say("go")
			lines := strings.Split(story(first), "\n")
			if len(lines) != 3 || lines[0] != `a: call inner{"request":"Pay."}` || !strings.HasPrefix(lines[1], "a: call "+tt.answer.Name) || lines[2] != "a: "+inner {
				t.Fatalf("events:\n%s", story(first))
			}
			wantStory(t, c.say("meanwhile"), "a: Chatting. (end)")
			l.want(t, "")
			tt.answer.ID = waits(first)[tt.answer.Name]
			got, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: tt.answer}}})
			if err != nil {
				t.Fatal(err)
			}
			wantStory(t, got, `
a: inner returned {"result":"Inner is done."} state{"said_inner":"Inner is done."}
a: Outer is done. (end)`)
			seen := within.Requests()[1].Contents()
			if last := seen[len(seen)-1].FunctionResponses(); len(last) != 1 || string(last[0].Response) != tt.hears {
				t.Errorf("the inner model hears %v", last)
			}
			for _, content := range m.Requests()[2].Contents() {
				doc, _ := content.MarshalJSON()
				if strings.Contains(string(doc), tt.answer.Name) {
					t.Errorf("the outer model sees %s", doc)
				}
			}
			if _, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: tt.answer}}}); err == nil {
				t.Error("the answer was taken twice")
			}
			if made := map[string]string{"approved": "pay 7"}[name]; true {
				l.want(t, made)
			}
		})
	}
}

// Questions can be many, deep, and answered one by one.
func TestAgentAsToolAsksAgain(t *testing.T) {
	var l ledger
	deepest := inside("deepest", scripted.New(scripted.Calls(
		&event.FunctionCall{Name: "pay", Args: json.RawMessage(`{"amount":1}`)}, &event.FunctionCall{Name: "send", Args: json.RawMessage(`{"amount":2}`)}),
		scripted.Say("Half."), scripted.Call("approve", nil), scripted.Say("Deepest is done.")),
		l.pay("pay", nil), l.pay("send", nil), later("approve", nil))
	middle := inside("inner", scripted.New(scripted.Call("deepest", map[string]string{"request": "x"}), scripted.Say("Inner is done.")), deepest)
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: tools(middle), Model: scripted.New(
		scripted.Call("inner", map[string]string{"request": "x"}), scripted.Say("Outer is done."))}))
	ids := questions(t, c.say("go"))
	got := c.decide(ids["send"], `{"confirmed":true}`)
	if strings.Contains(story(got), "adk_request") || !strings.HasSuffix(story(got), inner) {
		t.Errorf("after the first answer:\n%s", story(got))
	}
	l.want(t, "send 2")
	got = c.decide(ids["pay"], `{"confirmed":true}`)
	l.want(t, "send 2, pay 1")
	id := waits(got)["approve"]
	if id == "" {
		t.Fatalf("nothing is asked:\n%s", story(got))
	}
	wantStory(t, c.answer(id, "approve", `{"ok":true}`), `
a: inner returned {"result":"Inner is done."} state{"said_deepest":"Deepest is done.","said_inner":"Inner is done."}
a: Outer is done. (end)`)
}

// A crash after the question was stored loses neither it nor the conversation.
func TestTakeoverAgentAsToolAsks(t *testing.T) {
	tree := func(w *world) *agent.Agent {
		within := mustLLM(agent.LLMConfig{Name: "agent_inside", Model: scripted.New(calls("once"), scripted.Say("inner")), Tools: tools(tool.Confirm(w.tool("once"), nil))})
		return w.llm("a", tools(agent.AsTool(within)), calls("agent_inside"), scripted.Say("done"))
	}
	s := scene{tree: tree}
	tp := &tape{state: map[string]json.RawMessage{}, notes: map[string][]byte{}, pending: map[string][]byte{}, id: "run-1"}
	p := &played{tape: tp, message: event.Text(event.RoleUser, "go")}
	if err := tp.emit(&event.Event{Author: event.User, Content: p.message}); err != nil {
		t.Fatal(err)
	}
	p.err = s.run(t, p, &world{runs: map[string]int{}}, false)
	for _, at := range p.moments {
		if at.events < 3 {
			continue // the call was in progress, and is not made again
		}
		w := &world{runs: map[string]int{}}
		again := &played{tape: p.cut(t, at), message: p.message}
		if err := s.run(t, again, w, true); err == nil || err.Error() != p.err.Error() || w.asked != 0 {
			t.Errorf("after %d events: %v, %d answers of models", at.events, err, w.asked)
		}
		if got, want := freshID.ReplaceAllString(story(again.events), ""), freshID.ReplaceAllString(story(p.events), ""); got != want {
			t.Errorf("after %d events:\n%s\nwant:\n%s", at.events, got, want)
		}
	}
}

// Two agents that are used as tools may wait in one turn. Their questions are
// answered in any order, one by one or together.
func TestAgentsAsToolsAskTogether(t *testing.T) {
	for name, order := range map[string][][]string{
		"in order": {{"pay"}, {"send"}}, "the other way round": {{"send"}, {"pay"}}, "together": {{"pay", "send"}}, "together, the other way round": {{"send", "pay"}},
	} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			tree := func() *agent.Agent {
				one := func(name, ask string) tool.Tool {
					step := func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
						if len(scripted.LastResponses(req)) > 0 {
							return scripted.Say(name+" is done.")(ctx, req)
						}
						return scripted.Call(ask, json.RawMessage(`{"amount":1}`))(ctx, req)
					}
					return inside(name, scripted.Func(step), l.pay(ask, nil))
				}
				both := scripted.Calls(&event.FunctionCall{Name: "first", Args: json.RawMessage(`{"request":"x"}`)}, &event.FunctionCall{Name: "second", Args: json.RawMessage(`{"request":"x"}`)})
				return mustLLM(agent.LLMConfig{Name: "a", Tools: tools(one("first", "pay"), one("second", "send")), Model: scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
					if len(scripted.LastResponses(req)) > 0 {
						return scripted.Say("Outer goes on.")(ctx, req)
					}
					return both(ctx, req)
				})})
			}
			// Each message is heard by another process.
			db := "sqlite://" + filepath.Join(t.TempDir(), "parley.db")
			c := &chat{t: t}
			restart := func() {
				if c.srv != nil {
					c.srv.Close(t.Context())
				}
				var err error
				if c.srv, err = parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": tree()}, Sessions: parley.SessionConfig{URL: db}}); err != nil {
					t.Fatal(err)
				}
			}
			restart()
			defer func() { c.srv.Close(t.Context()) }()
			asked := c.say("go")
			ids := questions(t, asked)
			if len(ids) != 2 {
				t.Fatalf("asked:\n%s", story(asked))
			}
			var all []string
			for _, answers := range order {
				restart()
				message := &event.Content{Role: event.RoleUser}
				for _, name := range answers {
					message.Parts = append(message.Parts, decide(ids[name], `{"confirmed":true}`))
				}
				got, err := c.send(message)
				if err != nil {
					t.Fatalf("%v: %v", answers, err)
				}
				all = append(all, story(got))
			}
			said := strings.Join(all, "\n")
			for _, want := range []string{`first returned {"result":"first is done."}`, `second returned {"result":"second is done."}`, "a: Outer goes on. (end)"} {
				if strings.Count(said, want) != 1 && want != "a: Outer goes on. (end)" || !strings.Contains(said, want) {
					t.Errorf("no %s in\n%s", want, said)
				}
			}
			if len(l.done) != 2 {
				t.Errorf("done: %v", l.done)
			}
			if found, err := parley.Doctor(t.Context(), db, false); err != nil || len(found.Problems) > 0 {
				t.Errorf("the log is not as it should be: %v, %+v", err, found)
			}
			for _, id := range ids {
				if _, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{decide(id, `{"confirmed":true}`)}}); err == nil {
					t.Error("an answer was taken twice")
				}
			}
		})
	}
}
