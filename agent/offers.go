package agent

import (
	"context"
	"fmt"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// offers implements agentrt.Invocation.Offers. The toolsets of all agents are asked at
// the same time.
func (inv *invocation) offers(ctx context.Context, root *Agent) []agentrt.Offer {
	type listed struct {
		agent, set int
		tools      []tool.Tool
		err        error
	}
	list := []agentrt.Offer{}
	names := [][]string{}
	answers := make([][]*listed, 0)
	waiting := 0
	got := make(chan *listed)
	c := &Context{Context: ctx, inv: inv}
	for a := range root.all() {
		if a.llm == nil {
			continue
		}
		at := len(list)
		list = append(list, agentrt.Offer{Agent: a.name, Tools: offered(a.llm.cfg.Tools, "")})
		names, answers = append(names, nil), append(answers, make([]*listed, len(a.llm.cfg.Toolsets)))
		for i, set := range a.llm.cfg.Toolsets {
			names[at] = append(names[at], setName(set, i))
			waiting++
			go func() {
				one := &listed{agent: at, set: i}
				one.tools, one.err = a.llm.open(c.with(func(c *Context) { c.agent = a }), set)
				select {
				case got <- one:
				case <-ctx.Done(): // it comes too late
				}
			}()
		}
	}
	for ; waiting > 0 && ctx.Err() == nil; waiting-- {
		select {
		case one := <-got:
			answers[one.agent][one.set] = one
		case <-ctx.Done():
		}
	}
	for at := range list {
		for i, one := range answers[at] {
			name := names[at][i]
			switch {
			case one == nil:
				list[at].Problems = append(list[at].Problems, name+" has not listed its tools in time")
			case one.err != nil:
				list[at].Problems = append(list[at].Problems, name+" cannot list its tools: "+one.err.Error())
			default:
				list[at].Tools = append(list[at].Tools, offered(one.tools, name)...)
			}
		}
	}
	return list
}

// setName is what people know a toolset by.
func setName(set tool.Toolset, i int) string {
	if named, ok := set.(fmt.Stringer); ok {
		return "toolset " + named.String()
	}
	return fmt.Sprintf("toolset %d", i+1)
}

// offered describes those of the tools that can be called.
func offered(tools []tool.Tool, set string) []agentrt.OfferedTool {
	list := []agentrt.OfferedTool{}
	for _, t := range tools {
		if _, ok := t.(silent); !ok {
			list = append(list, agentrt.OfferedTool{Declaration: t.Declaration(), Toolset: set, AsksFirst: asksFirst(t)})
		}
	}
	return list
}
