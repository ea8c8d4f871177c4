package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// told is what a model was told, in one line.
func told(req *model.Request) string {
	var all []string
	for _, c := range req.Contents() {
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				all = append(all, "call "+p.FunctionCall.Name)
			case p.FunctionResponse != nil:
				all = append(all, p.FunctionResponse.Name+" returned")
			default:
				all = append(all, p.Text)
			}
		}
	}
	return strings.Join(all, " | ")
}

// counted says text and that the prompt had so many tokens.
func counted(text string, tokens int64) scripted.Step {
	return scripted.Respond(&model.Response{Content: event.Text(event.RoleModel, text), Usage: &event.Usage{Prompt: tokens, Total: tokens}})
}

func lastTold(m *scripted.Model) string { all := m.Requests(); return told(all[len(all)-1]) }

func TestCompactionByTokens(t *testing.T) {
	m := scripted.New(counted("one", 10), counted("two", 60), counted("three", 30), counted("four", 70), counted("five", 10))
	short := scripted.New(counted("numbers were named", 7), counted("many numbers were named", 7))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Compactions: []*agent.Compaction{{Tokens: 50, Keep: 2, Summarize: agent.Summarizer(short, "")}}}))
	c.say("1")
	c.say("2")
	events := c.say("3")
	if got, want := lastTold(m), "What was said before, in short: numbers were named | two | 3"; got != want {
		t.Errorf("the model was told %q, want %q", got, want)
	}
	if len(events) != 2 || events[0].Author != "a" || events[0].Usage.Prompt != 7 {
		t.Fatalf("events:\n%s", story(events))
	}
	var note struct{ FirstEventID, LastEventID string }
	if err := json.Unmarshal(events[0].CustomMetadata["compaction"], &note); err != nil || note.FirstEventID == "" || note.LastEventID == "" {
		t.Errorf("the event does not name what it stands for: %s, %v", events[0].CustomMetadata["compaction"], err)
	}
	if got := short.Requests()[0]; told(got) != "[user] said: 1\n[a] said: one\n[user] said: 2\n" || !strings.Contains(got.Instruction, "Summarise") {
		t.Errorf("the summary is of %q", told(got))
	}
	wantStory(t, c.say("4"), "a: four (end)") // 30 tokens are few
	c.say("5")
	if got, want := lastTold(m), "What was said before, in short: many numbers were named | four | 5"; got != want {
		t.Errorf("the model was told %q, want %q", got, want)
	}
	if got := told(short.Requests()[1]); !strings.HasPrefix(got, "[a] said: What was said before, in short: numbers were named\n[a] said: two\n") {
		t.Errorf("the second summary is of %q", got)
	}
}

func TestCompactionByEvents(t *testing.T) {
	var steps []scripted.Step
	for i := range 6 {
		steps = append(steps, scripted.Say(fmt.Sprint("answer", i)))
	}
	m := scripted.New(steps...)
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Compactions: []*agent.Compaction{{Events: 6, Lead: 1, Keep: 3}}}))
	for i := range 6 {
		c.say(fmt.Sprint("question", i))
	}
	if got, want := lastTold(m), "question0 | question4 | answer4 | question5"; got != want {
		t.Errorf("the model was told %q, want %q", got, want)
	}
}

// A call is not told without its answer, and what waits for one is not summed up.
func TestCompactionKeepsCallsWhole(t *testing.T) {
	m := scripted.New(
		scripted.Call("later", nil), scripted.Say("asked"), scripted.Say("chat"), scripted.Say("more"), scripted.Say("thanks"),
		scripted.Call("look", map[string]string{"of": "x"}), scripted.Say("x"), scripted.Say("end"))
	root := mustLLM(agent.LLMConfig{
		Name: "a", Model: m, Tools: tools(later("later", map[string]string{"status": "pending"}), lookup("look")),
		Compactions: []*agent.Compaction{{Events: 2, Keep: 1}},
	})
	c := newChat(t, root)
	id := c.say("0")[0].FunctionCalls()[0].ID
	c.say("1")
	c.say("2")
	if got, want := lastTold(m), "call later | later returned | 2"; got != want {
		t.Errorf("while a call waits the model was told %q, want %q", got, want)
	}
	c.answer(id, "later", `{"ok":true}`)
	c.say("3")
	c.say("4")
	if got, want := lastTold(m), "4"; got != want {
		t.Errorf("after the answer the model was told %q, want %q", got, want)
	}
}

// A question without an answer does not keep the rest of the conversation from
// being summarised, whatever asks it. When it is answered, the model sees the
// call, and the next summary includes it.
func TestCompactionAroundOpenCalls(t *testing.T) {
	const turns = 20
	var l ledger
	for name, tt := range map[string]struct {
		ask    scripted.Step
		call   string // the call that is answered
		answer string
		open   string // what the model is told of the question
		closed string // of the answer
	}{
		"long-running": {
			scripted.Call("later", nil), "later", `{"ok":true}`,
			"call later | later returned", "call later | later returned",
		},
		"confirmation": {
			scripted.Calls(numbered("", "pay", `{"amount":1}`), numbered("", "look", `{"of":"x"}`)), tool.ConfirmationCall, `{"confirmed":true}`,
			"call pay | call look | pay returned | look returned", "call pay | pay returned",
		},
		"agent in a tool": {
			scripted.Call("inner", map[string]string{"request": "x"}), "approve", `{"ok":true}`,
			"call inner | inner returned", "call inner | inner returned",
		},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []scripted.Step{scripted.Say("Hello."), tt.ask}
			if name == "long-running" {
				steps = append(steps, scripted.Say("Asked."))
			}
			for range turns + 6 {
				steps = append(steps, scripted.Say("Chat."))
			}
			m := scripted.New(steps...)
			var summed []string
			summarize := func(_ *tool.Context, events []*event.Event) (*model.Response, error) {
				var all []string
				for _, ev := range events {
					for _, call := range ev.FunctionCalls() {
						all = append(all, "call "+call.Name)
					}
				}
				summed = append(summed, strings.Join(all, " | "))
				return model.Text("short"), nil
			}
			within := scripted.New(scripted.Call("approve", nil), scripted.Say("Inner is done."))
			c := newChat(t, mustLLM(agent.LLMConfig{
				Name: "a", Model: m, Tools: tools(later("later", map[string]string{"status": "pending"}), l.pay("pay", nil), lookup("look"), inside("inner", within, later("approve", nil))),
				Compactions: []*agent.Compaction{{Events: 4, Keep: 2, Summarize: summarize}},
			}))
			c.say("Before.")
			id := waits(c.say("go"))[tt.call]
			for i := range turns {
				c.say(fmt.Sprint("word", i))
			}
			got := lastTold(m)
			if want := "What was said before, in short: short | " + tt.open + " | "; !strings.HasPrefix(got, want) || strings.Count(got, " | ") > 10 {
				t.Errorf("while the question is open the model was told %q, want it to begin with %q and to be short", got, want)
			}
			if all := strings.Join(summed, " "); all != strings.Repeat(" ", len(summed)-1) {
				t.Errorf("what is open was summed up: %q", all)
			}
			c.answer(id, tt.call, tt.answer)
			if got = lastTold(m); !strings.Contains(got, tt.open) || !strings.HasSuffix(got, tt.closed) {
				t.Errorf("after the answer the model was told %q, want it to end with %q", got, tt.closed)
			}
			for i := range 5 {
				c.say(fmt.Sprint("more", i))
			}
			if got = lastTold(m); strings.Contains(got, "call ") {
				t.Errorf("later the model was told %q, want no call", got)
			}
			if all := strings.Join(summed, " "); strings.Count(all, strings.Split(tt.open, " | ")[0]) != 1 {
				t.Errorf("the call was not summed up once: %q", all)
			}
		})
	}
}

func TestCompactionThatGoesWrong(t *testing.T) {
	for name, summarize := range map[string]func(*tool.Context, []*event.Event) (*model.Response, error){
		"an error":  func(*tool.Context, []*event.Event) (*model.Response, error) { return nil, errors.New("no line") },
		"nothing":   func(*tool.Context, []*event.Event) (*model.Response, error) { return nil, nil },
		"a refusal": agent.Summarizer(scripted.New(scripted.Error("SAFETY", "no")), ""),
		"no answer": agent.Summarizer(scripted.New(func(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
			return func(func(*model.Response, error) bool) {}
		}), ""),
		"no line up": agent.Summarizer(scripted.New(scripted.Fail(errors.New("no line"))), ""),
	} {
		t.Run(name, func(t *testing.T) {
			m := scripted.New(scripted.Say("one"), scripted.Say("two"))
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Compactions: []*agent.Compaction{{Events: 1, Summarize: summarize}}}))
			c.say("1")
			wantStory(t, c.say("2"), "a: two (end)")
			if got, want := lastTold(m), "1 | one | 2"; got != want {
				t.Errorf("the model was told %q, want %q", got, want)
			}
		})
	}
}

func TestTakeoverCompaction(t *testing.T) {
	t.Parallel()
	scene{turns: []string{"1", "2", "3"}, tree: func(w *world) *agent.Agent {
		return mustLLM(agent.LLMConfig{
			Name: "a", Model: w.model(scripted.Say("one"), calls("once"), scripted.Say("two"), scripted.Say("three")), Tools: tools(w.tool("once")),
			Compactions: []*agent.Compaction{{Events: 2, Keep: 1, Summarize: func(*tool.Context, []*event.Event) (*model.Response, error) { return model.Text("short"), nil }}},
		})
	}}.play(t)
}

// Plugins are called when a conversation is compacted. If the summary could not be made,
// they are called only before.
func TestCompactionHooks(t *testing.T) {
	var heard []string
	fails := true
	summary := func(*tool.Context, []*event.Event) (*model.Response, error) {
		heard = append(heard, "summary")
		if fails {
			return nil, errors.New("not now")
		}
		return &model.Response{Content: event.Text(event.RoleModel, "short")}, nil
	}
	hook := func(name string) func(*tool.Context, *agent.Compaction) error {
		return func(ctx *tool.Context, _ *agent.Compaction) error {
			heard = append(heard, name+" in "+ctx.Agent)
			return ctx.State.Set(name, len(heard))
		}
	}
	root := mustLLM(agent.LLMConfig{
		Name: "a", Model: scripted.New(scripted.Say("1"), scripted.Say("2"), scripted.Say("3"), scripted.Say("4")),
		Compactions: []*agent.Compaction{{Events: 2, Summarize: summary}},
	})
	refuses := false
	root, err := agent.WithPlugins(root,
		&agent.Plugin{Name: "p", BeforeCompaction: hook("before"), AfterCompaction: hook("after")},
		&agent.Plugin{Name: "q", BeforeCompaction: func(*tool.Context, *agent.Compaction) error {
			if refuses {
				return errors.New("no")
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	c := newChat(t, root)
	c.say("one")
	wantStory(t, c.say("two"), "a: 2 (end)")
	if got := strings.Join(heard, ", "); got != "before in a, summary" {
		t.Errorf("heard: %s", got)
	}
	heard, fails = nil, false
	events := c.say("three")
	if got := strings.Join(heard, ", "); got != "before in a, summary, after in a" || len(events) != 2 {
		t.Errorf("heard: %s\n%s", got, story(events))
	}
	if delta := events[0].Actions.StateDelta; string(delta["before"]) != "1" || string(delta["after"]) != "3" {
		t.Errorf("the summary changes %s", delta)
	}
	heard, refuses = nil, true
	if _, err := c.send(event.Text(event.RoleUser, "four")); err == nil {
		c.say("five")
		t.Error("the run did not fail")
	}
	if got := strings.Join(heard, ", "); got != "before in a" {
		t.Errorf("heard: %s", got)
	}
}
