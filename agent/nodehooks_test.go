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
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/nodes"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func TestNodeHooks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	see := func(when string, ctx *workflow.Context, value json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %s", when, ctx.Path(), value))
	}
	plugin := &agent.Plugin{
		Name: "p",
		BeforeNode: func(tc *tool.Context, input json.RawMessage) (any, error) {
			ctx := workflow.FromHook(tc)
			see("before", ctx, input)
			if ctx.Path() == "wf.skipped" {
				return "cached", nil
			}
			return nil, ctx.State.Set("before_"+ctx.Path(), 1)
		},
		AfterNode: func(tc *tool.Context, output json.RawMessage) (any, error) {
			ctx := workflow.FromHook(tc)
			see("after", ctx, output)
			switch ctx.Path() {
			case "wf.changed", "wf.llm", "wf.inner":
				return "other", nil
			}
			return nil, nil
		},
	}
	inner := nodes.Workflow("inner", workflow.Chain(workflow.Start, nodes.Adds("deep")))
	silent := workflow.Func("silent", func(*workflow.Context, any) (any, error) { return nil, nil }, workflow.NodeConfig{})
	tree := func(*world) *agent.Agent {
		root := nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("plain"), nodes.Adds("skipped"), nodes.Adds("changed"),
			nodeOf(mustLLM(agent.LLMConfig{Name: "llm", Model: scripted.New(scripted.Say("said"))})), nodeOf(inner), nodes.Adds("end"), silent))
		root, err := agent.WithPlugins(root, plugin)
		if err != nil {
			t.Fatal(err)
		}
		return root
	}
	events, err := nodes.Run(t, tree(nil))
	if err != nil {
		t.Fatal(err)
	}
	nodes.WantOutcome(t, events, `
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
		BeforeNode: func(ctx *tool.Context, _ json.RawMessage) (any, error) {
			if workflow.FromHook(ctx).Path() == "wf.skipped" {
				return "cached", nil
			}
			return nil, nil
		},
		AfterNode: func(ctx *tool.Context, _ json.RawMessage) (any, error) {
			if slices.Contains(replaced, workflow.FromHook(ctx).Path()) {
				return "other", nil
			}
			return nil, nil
		},
	}
	s := scene{turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
		root := nodes.Workflow("wf", workflow.Chain(workflow.Start, w.adds("a"), w.adds("skipped"), w.adds("b"), nodeOf(w.llm("llm_c", nil, scripted.Say("c"))),
			nodeOf(nodes.Workflow("inner", workflow.Chain(workflow.Start, w.adds("d")))), w.asks("e", true), w.adds("f")))
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
		"before": {Name: "p", BeforeNode: func(*tool.Context, json.RawMessage) (any, error) { return nil, errors.New("no luck") }},
		"after":  {Name: "p", AfterNode: func(*tool.Context, json.RawMessage) (any, error) { return nil, errors.New("no luck") }},
		"panics": {Name: "p", AfterNode: func(*tool.Context, json.RawMessage) (any, error) { panic("secret") }},
	} {
		root, err := agent.WithPlugins(nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("a"), nodes.Adds("b"))), plugin)
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

// What a hook runs is not the node that it is called for.
func TestFromHookInNodeOfHook(t *testing.T) {
	t.Parallel()
	var within []bool
	probe := tool.Must(tool.New(tool.Declaration{Name: "probe"}, func(ctx *tool.Context, _ struct{}) (string, error) {
		within = append(within, workflow.FromHook(ctx) != nil)
		return "probed", nil
	}))
	root, err := agent.WithPlugins(nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("a"))), &agent.Plugin{
		Name: "p",
		AfterNode: func(ctx *tool.Context, _ json.RawMessage) (any, error) {
			node := workflow.FromHook(ctx)
			if node.Path() != "wf.a" {
				return nil, nil
			}
			return node.RunNode(workflow.Tool(probe, workflow.NodeConfig{}), struct{}{}, nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err := newChat(t, root).send(event.Text(event.RoleUser, "go"))
	if err != nil || !slices.Equal(within, []bool{false}) || !strings.Contains(string(events[len(events)-1].Extra["output"]), "probed") {
		t.Errorf("the tool saw the node of the hook: %v, error %v:\n%s", within, err, story(events))
	}
}
