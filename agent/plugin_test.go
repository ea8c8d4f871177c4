package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// nosy is a plugin that writes down which of its hooks were called.
func nosy(name string) (*agent.Plugin, func() []string) {
	var mu sync.Mutex
	var seen []string
	note := func(hook string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, name+"."+hook)
	}
	callback := func(hook string) agent.Callback {
		return func(ctx *tool.Context) (*event.Content, error) { note(hook + " " + ctx.Agent); return nil, nil }
	}
	return &agent.Plugin{
		Name: name,
		OnUserMessage: func(_ *tool.Context, m *event.Content) (*event.Content, error) {
			note("message " + m.Text())
			return nil, nil
		},
		BeforeRun: callback("before run"),
		AfterRun:  func(*tool.Context) error { note("after run"); return nil },
		OnEvent: func(_ *tool.Context, ev *event.Event) (*event.Event, error) {
			note("event of " + ev.Author)
			return nil, nil
		},
		BeforeAgent: callback("before agent"),
		AfterAgent:  callback("after agent"),
		BeforeModel: func(*tool.Context, *model.Request) (*model.Response, error) { note("before model"); return nil, nil },
		AfterModel:  func(*tool.Context, *model.Response) (*model.Response, error) { note("after model"); return nil, nil },
		BeforeTool: func(_ *tool.Context, c *agent.Call) (any, error) {
			note("before " + c.Tool.Declaration().Name)
			return nil, nil
		},
		AfterTool: func(*tool.Context, *agent.Call, json.RawMessage) (any, error) { note("after tool"); return nil, nil },
	}, func() []string { mu.Lock(); defer mu.Unlock(); return seen }
}

func TestPluginsSeeEverything(t *testing.T) {
	first, seen := nosy("p")
	var own []string
	root := mustLLM(agent.LLMConfig{
		Name: "a", Model: scripted.New(scripted.Call("look", map[string]string{"of": "x"}), scripted.Say("x")), Tools: tools(lookup("look")),
		BeforeTool: []agent.BeforeTool{func(*tool.Context, *agent.Call) (any, error) {
			own = append(own, seen()[len(seen())-1]) // the plugin came first
			return nil, nil
		}},
	})
	newChat(t, agent.Must(agent.WithPlugins(root, first))).say("hello")
	want := []string{
		"p.message hello", "p.before run a", "p.before agent a",
		"p.before model", "p.after model", "p.event of a",
		"p.before look", "p.after tool", "p.event of a",
		"p.before model", "p.after model", "p.event of a",
		"p.after agent a", "p.after run",
	}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("hooks:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(own, []string{"p.before look"}) {
		t.Errorf("the callback of the agent came after %q", own)
	}
}

func TestPluginsReplaceResponses(t *testing.T) {
	t.Parallel()
	fails := tool.Must(tool.New(tool.Declaration{Name: "look"}, func(*tool.Context, struct{}) (any, error) {
		return nil, errors.New("no such city")
	}))
	text := func(s string) *event.Content { return event.Text("", s) }
	for name, tc := range map[string]struct {
		plugin agent.Plugin
		steps  []scripted.Step
		want   string
	}{
		"before run": {
			plugin: agent.Plugin{BeforeRun: func(*tool.Context) (*event.Content, error) { return text("closed"), nil }},
			want:   `a: closed (end)`,
		},
		"before agent": {
			plugin: agent.Plugin{BeforeAgent: func(*tool.Context) (*event.Content, error) { return text("closed"), nil }},
			want:   `a: closed (end)`,
		},
		"message": {
			plugin: agent.Plugin{OnUserMessage: func(ctx *tool.Context, m *event.Content) (*event.Content, error) {
				if err := ctx.State.Set("asked", m.Text()); err != nil {
					return nil, err
				}
				return text("something else"), nil
			}},
			steps: []scripted.Step{parrot},
			want:  `a: something else; asked: hello (end)`,
		},
		"event": {
			plugin: agent.Plugin{OnEvent: func(_ *tool.Context, ev *event.Event) (*event.Event, error) {
				return &event.Event{Content: text(strings.ToUpper(ev.Content.Text())), TurnComplete: true}, nil
			}},
			steps: []scripted.Step{scripted.Say("quiet")},
			want:  `a: QUIET (end)`,
		},
		"model": {
			plugin: agent.Plugin{BeforeModel: func(*tool.Context, *model.Request) (*model.Response, error) { return model.Text("cached"), nil }},
			want:   `a: cached (end)`,
		},
		"model error": {
			plugin: agent.Plugin{OnModelError: func(_ *tool.Context, _ *model.Request, err error) (*model.Response, error) {
				return model.Text("sorry: " + err.Error()), nil
			}},
			steps: []scripted.Step{scripted.Fail(errors.New("no line"))},
			want:  `a: sorry: model scripted: no line (end)`,
		},
		"model refusal": {
			plugin: agent.Plugin{OnModelError: func(_ *tool.Context, _ *model.Request, err error) (*model.Response, error) {
				return model.Text("sorry: " + err.Error()), nil
			}},
			steps: []scripted.Step{scripted.Error("UNAVAILABLE", "busy")},
			want:  `a: sorry: model scripted: UNAVAILABLE: busy (end)`,
		},
		"model refusal that stays": {
			plugin: agent.Plugin{OnModelError: func(*tool.Context, *model.Request, error) (*model.Response, error) { return nil, nil }},
			steps:  []scripted.Step{scripted.Error("UNAVAILABLE", "busy")},
			want:   `a: error UNAVAILABLE`,
		},
		"refusal of a callback": {
			plugin: agent.Plugin{
				AfterModel: func(*tool.Context, *model.Response) (*model.Response, error) {
					return &model.Response{ErrorCode: "BLOCKED"}, nil
				},
				OnModelError: func(*tool.Context, *model.Request, error) (*model.Response, error) { return model.Text("no"), nil },
			},
			steps: []scripted.Step{scripted.Say("something")},
			want:  `a: error BLOCKED`,
		},
		"tool error": {
			plugin: agent.Plugin{OnToolError: func(_ *tool.Context, _ *agent.Call, err error) (any, error) {
				return map[string]string{"instead of": err.Error()}, nil
			}},
			steps: []scripted.Step{scripted.Call("look", nil), scripted.Say("done")},
			want: `
a: call look{}
a: look returned {"instead of":"no such city"}
a: done (end)`,
		},
		"state after run": {
			plugin: agent.Plugin{AfterRun: func(ctx *tool.Context) error { return ctx.State.Set("runs", 1) }},
			steps:  []scripted.Step{scripted.Say("done")},
			want:   "a: done (end)\na: state{\"runs\":1}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.plugin.Name = "p"
			last, seen := nosy("last")
			last.OnEvent, last.AfterRun, last.BeforeRun = nil, nil, nil
			m := scripted.New(tc.steps...)
			root := mustLLM(agent.LLMConfig{Name: "a", Model: m, Instruction: "asked: {asked?}", Tools: tools(fails)})
			wantStory(t, newChat(t, agent.Must(agent.WithPlugins(root, &tc.plugin, last))).say("hello"), tc.want)
			if name == "before agent" && slices.Contains(seen(), "last.before agent a") {
				t.Error("a plugin was asked after another one had answered")
			}
		})
	}
}

// parrot says what the model was told.
func parrot(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	all := req.Contents()
	return scripted.Say(all[len(all)-1].Text()+"; "+req.Instruction)(ctx, req)
}

func TestPluginsThatGoWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		plugin agent.Plugin
		want   string
	}{
		"message": {agent.Plugin{OnUserMessage: func(*tool.Context, *event.Content) (*event.Content, error) {
			return nil, errors.New("not today")
		}}, "plugin p: not today"},
		"message that cannot be": {agent.Plugin{OnUserMessage: func(*tool.Context, *event.Content) (*event.Content, error) {
			return &event.Content{}, nil
		}}, "No parts"},
		"panic": {agent.Plugin{OnEvent: func(*tool.Context, *event.Event) (*event.Event, error) { panic("boom") }}, "plugin p panicked"},
		"run":   {agent.Plugin{BeforeRun: func(*tool.Context) (*event.Content, error) { return nil, errors.New("not today") }}, "not today"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.plugin.Name = "p"
			root := mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("x"))})
			_, err := newChat(t, agent.Must(agent.WithPlugins(root, &tc.plugin))).send(event.Text(event.RoleUser, "hello"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
	sub := mustLLM(agent.LLMConfig{Name: "sub"})
	root := mustLLM(agent.LLMConfig{Name: "a", SubAgents: []*agent.Agent{sub}})
	for _, tc := range []struct {
		root    *agent.Agent
		plugins []*agent.Plugin
	}{
		{sub, []*agent.Plugin{{Name: "p"}}},
		{root, []*agent.Plugin{{Name: "p"}, {Name: "p"}}},
		{root, []*agent.Plugin{{}}},
		{root, []*agent.Plugin{nil}},
	} {
		if _, err := agent.WithPlugins(tc.root, tc.plugins...); err == nil {
			t.Errorf("WithPlugins(%s, %v) must fail", tc.root.Name(), tc.plugins)
		}
	}
}

func TestTakeoverPlugins(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*agent.Plugin{
		"around": {
			BeforeRun: silent("b"), BeforeAgent: silent("x"), AfterAgent: speaks("y"),
			AfterRun: func(ctx *tool.Context) error { return ctx.State.Set("after", 1) },
		},
		"instead": {BeforeRun: speaks("closed")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.Name = "p"
			scene{turns: []string{"go"}, tree: func(w *world) *agent.Agent {
				return agent.Must(agent.WithPlugins(sequential("all", w.llm("a", tools(w.tool("once")), calls("once"), scripted.Say("a")), w.llm("b", nil, scripted.Say("b"))), p))
			}}.play(t)
		})
	}
}

func TestGlobalInstruction(t *testing.T) {
	m := scripted.New(scripted.Say("x"))
	root := agent.Must(agent.WithPlugins(mustLLM(agent.LLMConfig{Name: "a", Model: m, Instruction: "Be brief."}),
		agent.GlobalInstruction("You speak {lang?}English.")))
	newChat(t, root).say("hello")
	if got, want := m.Requests()[0].Instruction, "You speak English.\n\nBe brief."; got != want {
		t.Errorf("instruction %q, want %q", got, want)
	}
}

func TestLogging(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	root := mustLLM(agent.LLMConfig{
		Name: "a", Model: scripted.New(scripted.Call("look", map[string]string{"of": "hidden"}), scripted.Say("secret")), Tools: tools(lookup("look")),
	})
	newChat(t, agent.Must(agent.WithPlugins(root, agent.Logging(log)))).say("private")
	for _, want := range []string{"run begins", "agent begins", "model is asked", "model has answered", "tool=look", "run ends"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &out)
		}
	}
	for _, not := range []string{"private", "secret", "hidden"} {
		if strings.Contains(out.String(), not) {
			t.Errorf("the log holds what was said: %q", not)
		}
	}
}

func TestWithPluginsLeavesTheTreeAsItWas(t *testing.T) {
	child := mustLLM(agent.LLMConfig{Name: "child", Model: scripted.New(scripted.Say("without"), scripted.Say("with"))})
	root := sequential("root", child)
	seen := 0
	copied := agent.Must(agent.WithPlugins(root, &agent.Plugin{Name: "p", BeforeAgent: func(*tool.Context) (*event.Content, error) {
		seen++
		return nil, nil
	}}))
	if copied == root || copied.Find("child") == child || copied.Find("child").Parent() != copied || child.Parent() != root {
		t.Fatal("the tree with plugins shares agents with the one without")
	}
	newChat(t, root).say("hello")
	if seen != 0 {
		t.Errorf("the plugin was called %d times in runs of the first tree", seen)
	}
	newChat(t, copied).say("hello")
	if seen != 2 {
		t.Errorf("the plugin was called %d times in a run of the copy, want once for each agent", seen)
	}
	if other := agent.Must(agent.WithCredentialCall(root, tool.CredentialCallADK)); agentrt.CredentialCall(root) != "" || agentrt.CredentialCall(other) != tool.CredentialCallADK {
		t.Error("WithCredentialCall has changed its argument")
	}
}
