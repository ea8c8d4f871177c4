package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
)

func TestNodeHooks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	see := func(when string, ctx *agent.NodeContext, value json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %s", when, ctx.Path(), value))
	}
	plugin := &agent.Plugin{
		Name: "p",
		BeforeNode: func(ctx *agent.NodeContext, input json.RawMessage) (any, error) {
			see("before", ctx, input)
			if ctx.Path() == "wf.skipped" {
				return "cached", nil
			}
			return nil, ctx.State.Set("before_"+ctx.Path(), 1)
		},
		AfterNode: func(ctx *agent.NodeContext, output json.RawMessage) (any, error) {
			see("after", ctx, output)
			switch ctx.Path() {
			case "wf.changed", "wf.llm", "wf.inner":
				return "other", nil
			}
			return nil, nil
		},
	}
	inner := workflow("inner", agent.Chain(agent.Start, adds("deep")))
	silent := agent.NewNode("silent", func(*agent.NodeContext, any) (any, error) { return nil, nil }, agent.NodeConfig{})
	tree := func(*world) *agent.Agent {
		root := workflow("wf", agent.Chain(agent.Start, adds("plain"), adds("skipped"), adds("changed"),
			nodeOf(mustLLM(agent.LLMConfig{Name: "llm", Model: scripted.New(scripted.Say("said"))})), nodeOf(inner), adds("end"), silent))
		root, err := agent.WithPlugins(root, plugin)
		if err != nil {
			t.Fatal(err)
		}
		return root
	}
	events, err := once(t, tree(nil))
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, events, `
wf.plain = "hi+plain"
wf.skipped = "cached"
wf.changed = "other"
wf.llm = "said"
wf.llm = "other"
wf.inner.deep = "other+deep"
wf.inner = "other"
wf.end = "other+end"
wf.silent`)
	if text := events[2].Content.Text(); text != "cached+changed" {
		t.Errorf("the text of a node whose output is replaced is %q", text)
	}
	if len(events[0].Actions.StateDelta) != 1 {
		t.Errorf("the state of the hook is %v", events[0].Actions.StateDelta)
	}
	want := `
before wf "hi"
before wf.plain "hi"
after wf.plain "hi+plain"
before wf.skipped "hi+plain"
before wf.changed "cached"
after wf.changed "cached+changed"
before wf.llm "other"
after wf.llm "said"
before wf.inner "other"
before wf.inner.deep "other"
after wf.inner.deep "other+deep"
after wf.inner "other+deep"
before wf.end "other"
after wf.end "other+end"
before wf.silent "other+end"
after wf.silent 
after wf `
	if got := strings.Join(seen, "\n"); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("the hooks were called with\n%s\nwant\n%s", got, want)
	}
}

// A process that continues the run goes on with the outputs of the hooks.
func TestTakeoverNodeHooks(t *testing.T) {
	t.Parallel()
	replaced := []string{"wf.b", "wf.llm_c", "wf.inner", "wf"}
	plugin := &agent.Plugin{
		Name: "p",
		BeforeNode: func(ctx *agent.NodeContext, _ json.RawMessage) (any, error) {
			if ctx.Path() == "wf.skipped" {
				return "cached", nil
			}
			return nil, nil
		},
		AfterNode: func(ctx *agent.NodeContext, _ json.RawMessage) (any, error) {
			if slices.Contains(replaced, ctx.Path()) {
				return "other", nil
			}
			return nil, nil
		},
	}
	s := scene{turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
		root := workflow("wf", agent.Chain(agent.Start, w.adds("a"), w.adds("skipped"), w.adds("b"), nodeOf(w.llm("llm_c", nil, scripted.Say("c"))),
			nodeOf(workflow("inner", agent.Chain(agent.Start, w.adds("d")))), w.asks("e", true), w.adds("f")))
		root, err := agent.WithPlugins(root, plugin)
		if err != nil {
			t.Fatal(err)
		}
		return root
	}}
	s.play(t)
}

func TestNodeHookFails(t *testing.T) {
	t.Parallel()
	for name, plugin := range map[string]*agent.Plugin{
		"before": {Name: "p", BeforeNode: func(*agent.NodeContext, json.RawMessage) (any, error) { return nil, errors.New("no luck") }},
		"after":  {Name: "p", AfterNode: func(*agent.NodeContext, json.RawMessage) (any, error) { return nil, errors.New("no luck") }},
		"panics": {Name: "p", AfterNode: func(*agent.NodeContext, json.RawMessage) (any, error) { panic("secret") }},
	} {
		root, err := agent.WithPlugins(workflow("wf", agent.Chain(agent.Start, adds("a"), adds("b"))), plugin)
		if err != nil {
			t.Fatal(err)
		}
		events, err := newChat(t, root).send(event.Text(event.RoleUser, "go"))
		last := &event.Event{}
		if len(events) > 0 {
			last = events[len(events)-1]
		}
		if said := fmt.Sprint(last.ErrorMessage, err); last.Author == "b" || !strings.Contains(said, "no luck") && name != "panics" || strings.Contains(said, "secret") {
			t.Errorf("%s: the end is %v:\n%s", name, err, story(events))
		}
	}
}
