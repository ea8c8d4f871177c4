package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// recorded answers the calls of tools with the results that a case has, so that a case
// has no effects outside. Models are asked.
type recorded struct {
	of *Case

	mu     sync.Mutex
	turn   int          // of the run that began last, from 1
	used   map[int]bool // responses of that turn
	lacked string       // the first call without a result
}

// edges are those of the next turn of the case.
func (e *recorded) edges(run.Beginning) run.Edges {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn++
	e.used = map[int]bool{}
	return e
}

// missing says which call had no result, if there was one.
func (e *recorded) missing() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lacked == "" {
		return ""
	}
	return "The case has no result for a call of a tool: " + e.lacked
}

// Ask implements agentrt.Edges.
func (e *recorded) Ask(ctx context.Context, _ agentrt.Place, m model.Model, req *model.Request, yield func(*model.Response, error) bool) {
	m.Generate(ctx, req)(yield)
}

// Listed implements agentrt.Edges: toolsets are asked, since a case does not have them.
func (e *recorded) Listed(agentrt.Place) ([]tool.Tool, bool) { return nil, false }

// Call implements agentrt.Edges.
func (e *recorded) Call(tc *tool.Context, _ agentrt.Place, t tool.Tool, args json.RawMessage) (any, error) {
	if _, ok := t.(agentrt.Unnamed); ok {
		return t.Call(tc, args) // a case does not have it
	}
	name := t.Declaration().Name
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.turn <= len(e.of.Conversation) {
		did := &e.of.Conversation[e.turn-1].Intermediate
		for i, call := range did.Calls {
			if e.used[i] || call.Name != name || !sameJSON(call.Args, args) {
				continue
			}
			if response := did.answer(i); response != nil {
				e.used[i] = true
				return response.Response, nil
			}
		}
	}
	if e.lacked == "" {
		e.lacked = short(name + " " + string(args))
	}
	return nil, fmt.Errorf("the case has no result for this call of %s, and tools are not called", name)
}

// answer is the response to a call: the one with its id or, where calls have none, the
// one with its name at the same place among those of that name.
func (d *Intermediate) answer(i int) *Response {
	call, nth := d.Calls[i], 0
	for _, before := range d.Calls[:i] {
		if before.Name == call.Name {
			nth++
		}
	}
	for j := range d.Responses {
		one := &d.Responses[j]
		switch {
		case call.ID != "" && one.ID == call.ID:
			return one
		case one.Name != call.Name || call.ID != "" && one.ID != "":
		case nth == 0:
			return one
		default:
			nth--
		}
	}
	return nil
}

// Done implements run.Edges.
func (e *recorded) Done() {}
