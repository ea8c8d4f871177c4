package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// The model asks for a summary in the middle of its work, and goes on with that.
func TestCompactionOnRequest(t *testing.T) {
	m := scripted.New(
		scripted.Say("one"),
		scripted.Call("look", map[string]string{"of": "x"}),
		scripted.Call("consolidate_context", map[string]string{"detail": "what x is"}),
		scripted.Call("look", map[string]string{"of": "y"}), scripted.Say("two"),
		scripted.Say("three"))
	short := scripted.New(scripted.Say("x was looked up"))
	var heard []bool
	root, err := agent.WithPlugins(mustLLM(agent.LLMConfig{
		Name: "a", Model: m, Tools: tools(lookup("look"), agent.ConsolidateContext()),
		Compactions: []*agent.Compaction{{OnRequest: true, Summarize: agent.Summarizer(short, "")}, {Tokens: 1 << 40}},
	}), &agent.Plugin{Name: "p", AfterCompaction: func(_ *tool.Context, c *agent.Compaction) error {
		heard = append(heard, c.OnRequest)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := newChat(t, root)
	c.say("1")
	c.say("2")
	requests := m.Requests()
	if got, want := told(requests[3]), "What was said before, in short: x was looked up | call consolidate_context | consolidate_context returned"; got != want {
		t.Errorf("after its call the model was told %q, want %q", got, want)
	}
	if got, want := strings.ReplaceAll(told(short.Requests()[0]), "`", "§"), `[user] said: 1
[a] said: one
[user] said: 2
[a] called tool §look§ with parameters: {"of":"x"}
[a] tool §look§ returned result: {"found":"x"}
[system] said: The summary must not leave out: what x is
`; got != want {
		t.Errorf("the summary is of %q, want %q", got, want)
	}
	c.say("3")
	if got, want := lastTold(m), "What was said before, in short: x was looked up | call consolidate_context | consolidate_context returned | call look | look returned | two | 3"; got != want {
		t.Errorf("in the next turn the model was told %q, want %q", got, want)
	}
	if len(short.Requests()) != 1 || len(heard) != 1 || !heard[0] {
		t.Errorf("%d summaries were made, the plugin heard %v", len(short.Requests()), heard)
	}
}

// The call has no effect without a summarizer, or when the summarizer fails.
func TestCompactionOnRequestWithoutEffect(t *testing.T) {
	fails := func(*tool.Context, []*event.Event) (*model.Response, error) { return nil, errors.New("no line") }
	for name, compactions := range map[string][]*agent.Compaction{"no summarizer": nil, "an error": {{OnRequest: true, Summarize: fails}}} {
		t.Run(name, func(t *testing.T) {
			m := scripted.New(scripted.Call("consolidate_context", nil), scripted.Say("done"))
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools(agent.ConsolidateContext()), Compactions: compactions}))
			c.say("1")
			if got, want := lastTold(m), "1 | call consolidate_context | consolidate_context returned"; got != want {
				t.Errorf("the model was told %q, want %q", got, want)
			}
		})
	}
}

// An anchored summary stays when later events are left out.
func TestCompactionAnchored(t *testing.T) {
	for name, c := range map[string]struct {
		anchored bool
		want     string
	}{
		"anchored": {true, "What was said before, in short: it began | e | 6"},
		"not":      {false, "e | 6"},
	} {
		t.Run(name, func(t *testing.T) {
			m := scripted.New(scripted.Say("a"), counted("b", 60), counted("c", 5), counted("d", 5), counted("e", 5), counted("f", 5))
			short := scripted.New(scripted.Say("it began"))
			chat := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Compactions: []*agent.Compaction{
				{Tokens: 50, Keep: 1, Anchored: c.anchored, Summarize: agent.Summarizer(short, "")}, {Events: 6, Keep: 2},
			}}))
			for text := range strings.FieldsSeq("1 2 3 4 5 6") {
				chat.say(text)
			}
			if got := lastTold(m); got != c.want {
				t.Errorf("the model was told %q, want %q", got, c.want)
			}
		})
	}
}

// What was thought is sent again for as long as it is new.
func TestCompactionOfThoughts(t *testing.T) {
	thinks := func(thought string, parts ...*event.Part) scripted.Step {
		all := append([]*event.Part{{Text: thought, Thought: true}}, parts...)
		return scripted.Respond(&model.Response{Content: &event.Content{Role: event.RoleModel, Parts: all}})
	}
	for name, c := range map[string]struct {
		keep int
		want string
	}{
		"none kept": {0, "1 | one | 2 | call look | look returned | 3 | think4 | call look | look returned"},
		"some kept": {4, "1 | one | 2 | call look | look returned | think3 | 3 | think4 | call look | look returned"},
		"all kept":  {20, "1 | think1 | one | 2 | think2 | call look | look returned | think3 | 3 | think4 | call look | look returned"},
	} {
		t.Run(name, func(t *testing.T) {
			look := &event.Part{FunctionCall: &event.FunctionCall{Name: "look", Args: []byte(`{"of":"x"}`)}}
			m := scripted.New(thinks("think1", &event.Part{Text: "one"}), thinks("think2", look), thinks("think3"), thinks("think4", look), scripted.Say("three"))
			chat := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools(lookup("look")), Compactions: []*agent.Compaction{{DropThoughts: true, Keep: c.keep}}}))
			chat.say("1")
			chat.say("2")
			events := chat.say("3")
			if got := lastTold(m); got != c.want {
				t.Errorf("the model was told %q, want %q", got, c.want)
			}
			if len(events) != 3 {
				t.Errorf("an event was made of it:\n%s", story(events))
			}
		})
	}
}
