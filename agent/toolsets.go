package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// toolbox is what an agent can call.
type toolbox struct {
	tools        map[string]tool.Tool
	declarations []model.Declaration
	requesters   []Requester
}

func (b *toolbox) add(t tool.Tool) {
	if r, ok := t.(Requester); ok {
		b.requesters = append(b.requesters, r)
	}
	if _, ok := t.(silent); ok {
		return
	}
	d := t.Declaration()
	b.tools[d.Name] = t
	b.declarations = append(b.declarations, model.Declaration{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
}

// longRunning returns the ids of the calls in c of tools that are answered later.
func (b *toolbox) longRunning(c *event.Content) (ids []string) {
	for _, p := range c.Parts {
		if p.FunctionCall == nil {
			continue
		}
		if t := b.tools[p.FunctionCall.Name]; t != nil && t.Declaration().LongRunning {
			ids = append(ids, p.FunctionCall.ID)
		}
	}
	return ids
}

// sets are the toolsets of an agent, and the toolbox that was last made of them.
type sets struct {
	mu   sync.Mutex
	last [][]tool.Tool
	box  *toolbox
}

// toolbox is what the agent can call now.
func (l *llm) toolbox(ctx *Context) (*toolbox, error) {
	box, err := l.ownToolbox(ctx)
	if err != nil || len(ctx.inv.Tools) == 0 || l.cfg.OutputSchema != nil {
		return box, err
	}
	return box.withClients(ctx.inv.Tools), nil
}

// withClients returns the toolbox with the tools of the client. A tool of the agent
// takes precedence over one of the same name.
func (b *toolbox) withClients(tools []tool.Declaration) *toolbox {
	all := b.copy()
	for _, d := range tools {
		if all.tools[d.Name] == nil {
			all.add(clientTool{d})
		}
	}
	return all
}

func (b *toolbox) copy() *toolbox {
	return &toolbox{tools: maps.Clone(b.tools), declarations: slices.Clip(b.declarations), requesters: slices.Clip(b.requesters)}
}

// clientTool is a tool whose calls the client makes.
type clientTool struct{ decl tool.Declaration }

func (t clientTool) Declaration() tool.Declaration {
	d := t.decl
	d.LongRunning, d.Effect = true, tool.Pure // nothing happens here
	return d
}

func (clientTool) Call(*tool.Context, json.RawMessage) (any, error) { return nil, nil }

// ownToolbox is what the agent can call without the tools of the client.
func (l *llm) ownToolbox(ctx *Context) (*toolbox, error) {
	if len(l.cfg.Toolsets) == 0 {
		return l.prepared(ctx.agent), nil
	}
	var listed []tool.Tool
	repeated := false
	if e := ctx.inv.Edges; e != nil {
		listed, repeated = e.Listed(ctx.place())
	}
	all := make([][]tool.Tool, len(l.cfg.Toolsets))
	for i, set := range l.cfg.Toolsets {
		if _, fixed := set.(tool.FixedToolset); repeated && !fixed {
			continue
		}
		var err error
		if all[i], err = l.open(ctx, set); err != nil {
			return nil, fmt.Errorf("the tools of agent %s: %w", ctx.agent.name, err)
		}
	}
	if repeated {
		box, err := l.combine(ctx, all)
		if err != nil {
			return nil, err
		}
		return box.withListed(listed, ctx.inv.Tools), nil
	}
	l.sets.mu.Lock()
	defer l.sets.mu.Unlock()
	if l.sets.box != nil && slices.EqualFunc(l.sets.last, all, same) {
		return l.sets.box, nil
	}
	box, err := l.combine(ctx, all)
	if err != nil {
		return nil, err
	}
	l.sets.last, l.sets.box = all, box
	return box, nil
}

// combine returns the toolbox with the agent's own tools and those of its toolsets.
func (l *llm) combine(ctx *Context, all [][]tool.Tool) (*toolbox, error) {
	box := l.own.copy()
	for _, tools := range all {
		for _, t := range tools {
			name := t.Declaration().Name
			if isReserved(name) {
				return nil, fmt.Errorf("the tools of agent %s: the tool name %s is taken", ctx.agent.name, name)
			}
			if box.tools[name] != nil {
				return nil, fmt.Errorf("the tools of agent %s: two are called %s; give a toolset a prefix", ctx.agent.name, name)
			}
			box.add(t)
		}
	}
	return box, nil
}

// withListed adds those of the tools of a repeated run that are not there, except those
// of the client, and declares all in the order of that run.
func (b *toolbox) withListed(listed []tool.Tool, clients []tool.Declaration) *toolbox {
	order := map[string]int{}
	for i, t := range listed {
		name := t.Declaration().Name
		order[name] = i
		if b.tools[name] == nil && !slices.ContainsFunc(clients, func(d tool.Declaration) bool { return d.Name == name }) {
			b.add(t)
		}
	}
	b.declarations = slices.Clone(b.declarations)
	slices.SortStableFunc(b.declarations, func(x, y model.Declaration) int {
		i, known := order[x.Name]
		j, too := order[y.Name]
		if !known || !too {
			return 0
		}
		return i - j
	})
	return b
}

func (l *llm) open(ctx *Context, set tool.Toolset) (tools []tool.Tool, err error) {
	defer agentrt.Recover(&err, "toolset of agent", ctx.agent.name)
	return set.Tools(ctx.toolContext(&event.Actions{}))
}

// same reports whether two lists are one, or equal.
func same(a, b []tool.Tool) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Close closes the toolsets of the agents in the tree that can be closed. The
// agents are of no use after it.
func (a *Agent) Close() error {
	var errs []error
	for one := range a.all() {
		if one.llm == nil {
			continue
		}
		for _, set := range one.llm.cfg.Toolsets {
			if c, ok := set.(io.Closer); ok {
				errs = append(errs, c.Close())
			}
		}
		for _, t := range one.llm.cfg.Tools {
			if inner, ok := t.(agentTool); ok {
				errs = append(errs, inner.agent.Close())
			}
		}
	}
	return errors.Join(errs...)
}
