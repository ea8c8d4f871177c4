package agent_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// counter is a tool that returns only when so many calls are active concurrently,
// having changed the state in both ways.
func counter(calls int) tool.Tool {
	var all sync.WaitGroup
	all.Add(calls)
	type in struct {
		N int `json:"n"`
	}
	return tool.Must(tool.New(tool.Declaration{Name: "count"}, func(ctx *tool.Context, in in) (any, error) {
		var n int
		if _, err := ctx.State.Get("set", &n); err != nil {
			return nil, err
		}
		all.Done()
		all.Wait()
		if err := ctx.State.Set("set", n+1); err != nil {
			return nil, err
		}
		if err := ctx.State.Increment("added", 1); err != nil {
			return nil, err
		}
		return "counted", ctx.State.Append("list", in.N)
	}))
}

// What is set by calls that are made at the same time is lost but for one;
// increments and appended values are not, however the calls come about.
func TestStateChangesAddUp(t *testing.T) {
	const calls = 4
	count := func(from, to int) scripted.Step {
		var all []*event.FunctionCall
		for i := from; i < to; i++ {
			all = append(all, numbered("", "count", fmt.Sprintf(`{"n":%d}`, i)))
		}
		return scripted.Calls(all...)
	}
	for name, root := range map[string]*agent.Agent{
		"calls of one response": mustLLM(agent.LLMConfig{Name: "a", Tools: tools(counter(calls)), Model: scripted.New(count(0, calls), scripted.Say("Done."))}),
		"parallel agents": func() *agent.Agent {
			both := counter(calls)
			return parallel("p",
				mustLLM(agent.LLMConfig{Name: "x", Tools: tools(both), Model: scripted.New(count(0, 2), scripted.Say("Done."))}),
				mustLLM(agent.LLMConfig{Name: "y", Tools: tools(both), Model: scripted.New(count(2, calls), scripted.Say("Done."))}))
		}(),
		"agents in tools": func() *agent.Agent {
			both := counter(calls)
			within := func(name string, from int) tool.Tool {
				return agent.AsTool(mustLLM(agent.LLMConfig{Name: name, Tools: tools(both), Model: scripted.New(count(from, from+2), scripted.Say("Done."))}))
			}
			return mustLLM(agent.LLMConfig{Name: "a", Tools: tools(within("x", 0), within("y", 2)), Model: scripted.New(
				scripted.Calls(numbered("", "x", `{"request":"go"}`), numbered("", "y", `{"request":"go"}`)), scripted.Say("Done."))})
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			c := newChat(t, root)
			state := map[string]json.RawMessage{}
			for _, ev := range c.say("go") {
				if len(ev.Actions.StateChanges) > 0 {
					t.Errorf("the event has changes that are not resolved: %v", ev.Actions.StateChanges)
				}
				maps.Copy(state, ev.Actions.StateDelta)
			}
			var list []int
			if err := json.Unmarshal(state["list"], &list); err != nil || len(list) != calls {
				t.Errorf("the list is %s, want %d values", state["list"], calls)
			}
			if string(state["added"]) != fmt.Sprint(calls) {
				t.Errorf("the sum is %s, want %d", state["added"], calls)
			}
			if string(state["set"]) != "1" {
				t.Errorf("the value that was set is %s: the calls were not made at the same time", state["set"])
			}
		})
	}
}
