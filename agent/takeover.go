package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// A run that is taken over is run again from its start, by the same code. But
// what the agents said the first time is in the log: as long as there is more
// of it they do not ask, call or emit, but take what they said, and go on as
// they did after it. Where the log ends, they begin to work. So there is one
// way through a tree of agents, and nothing to be said about where in it a
// process may die.
//
// What the log cannot tell is in the journal: the results of calls whose event
// was still to come, which events came from callbacks, and which calls had no
// receipt. An agent made of a function cannot be led in this way. It is passed
// over if the log goes on after it, and else the run cannot be resumed.

// past is what a run had said when it was taken over. A nil past is empty.
type past struct {
	mu     sync.Mutex
	events []*memory // in order
	from   int       // everything before is taken
}

// memory is an event of the past.
type memory struct {
	*event.Event
	callback string // which callback it is from, if any
	scope    string // of the run of the node that said it, empty outside of workflows
	taken    bool   // by the agent that said it
}

// recall reads the past of a run from the log, and finds the place of the
// message that it began with.
func (inv *invocation) recall() (*past, int) {
	p := &past{}
	first := inv.Log.Len()
	for i := first - 1; i >= 0; i-- {
		ev := inv.Log.At(i)
		if ev.InvocationID != inv.ID {
			continue // a patch came in between
		}
		first = i
		if ev.Author == event.User {
			break
		}
		p.events = append(p.events, &memory{Event: ev})
	}
	slices.Reverse(p.events)
	spoken := map[string]int{}
	for _, m := range p.events {
		who := m.Author + "@" + m.Branch
		said, _ := inv.noted(callbackNote(who, spoken[who]))
		m.callback = string(said)
		if info, ok := agentrt.NodeOf(m.Event); ok {
			m.scope = info.Scope()
		}
		spoken[who]++
	}
	return p, first
}

// modelCalls is how many of the events cost a model call.
func (p *past) modelCalls(root *Agent) (n int64) {
	for _, m := range p.events {
		if a := root.Find(m.Author); m.scope != "" && (a == nil || a.llm == nil) || a != nil && a.remote != nil {
			continue // a function's, or another server's
		}
		if m.callback == "" && m.ErrorCode != maxModelCalls && len(m.FunctionResponses()) == 0 && !asks(m.Event) && !isExecution(m.Event) && dataFile(m.Event) == "" {
			n++
		}
	}
	return n
}

// without is emit for what is new. What the agents take from the past is
// passed on like all events, so that loops see it, but is not emitted twice.
func (p *past) without(emit Emit) Emit {
	return func(ev *event.Event) error {
		if p.holds(ev) {
			return nil
		}
		return emit(ev)
	}
}

// holds reports whether ev is of the past.
func (p *past) holds(ev *event.Event) bool {
	return p != nil && slices.ContainsFunc(p.events, func(m *memory) bool { return m.Event == ev })
}

// next is how the run went on in the branch and the node of c, nil when it came no
// further.
func (p *past) next(c *Context) *memory {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.from < len(p.events) && p.events[p.from].taken {
		p.from++
	}
	for _, m := range p.events[p.from:] {
		if !m.taken && m.continues(c) {
			return m
		}
	}
	return nil
}

// continues reports whether m is in the same branch and node as c. Branches below
// a node are compared from there on.
func (m *memory) continues(c *Context) bool {
	if c.node == nil {
		return !agentrt.Apart(m.Branch, c.branch)
	}
	base := c.node.ctx.branch
	return agentrt.Within(m.scope, c.node.scope) && !agentrt.Apart(below(base, m.Branch), below(base, c.branch))
}

func below(base, branch string) string {
	if base == "" {
		return branch
	}
	return strings.TrimPrefix(strings.TrimPrefix(branch, base), ".")
}

// find returns the memory of an event, nil if there is none.
func (p *past) find(ev *event.Event) *memory {
	if p == nil {
		return nil
	}
	for _, m := range p.events {
		if m.Event == ev {
			return m
		}
	}
	return nil
}

func (p *past) isTaken(m *memory) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return m.taken
}

// take lets m happen again.
func (p *past) take(m *memory, emit Emit) error {
	p.mu.Lock()
	m.taken = true
	p.mu.Unlock()
	return emit(m.Event)
}

// replay takes what the agent said next, before the run was taken over. It is
// nil when the agent had said nothing more.
func (c *Context) replay(emit Emit) (*event.Event, error) {
	m := c.inv.past.next(c)
	if m == nil {
		return nil, nil
	}
	if !c.own(m) || m.callback != "" { // the application is not the same any more
		return nil, fmt.Errorf("agent %s, where the log goes on with %s: %w", c.agent.name, m.Author, ErrCannotResume)
	}
	return m.Event, c.inv.past.take(m, emit)
}

func (c *Context) own(m *memory) bool { return m.Author == c.agent.name && m.Branch == c.branch }

// replayCallbacks reports whether callbacks have been run before the run was
// taken over, and whether they answered in the agent's place. Callbacks that
// said nothing are run again only if nothing came after them.
func (c *Context) replayCallbacks(when string, emit Emit) (run, done bool, err error) {
	m := c.inv.past.next(c)
	if m == nil {
		return false, false, nil
	}
	if !c.own(m) || m.callback != when {
		return true, false, nil
	}
	return true, m.Content != nil, c.inv.past.take(m, emit)
}

// pass passes over an agent made of a function whose work is done, as can be
// seen from what came after it. It is false when the agent has not begun.
func (c *Context) pass(emit Emit) (bool, error) {
	begun := false
	m := c.inv.past.next(c)
	for ; m != nil && c.inside(m); m = c.inv.past.next(c) {
		begun = true
		if err := c.inv.past.take(m, emit); err != nil {
			return true, err
		}
	}
	if m == nil && begun {
		return true, fmt.Errorf("agent %s: %w", c.agent.name, ErrCannotResume)
	}
	return m != nil, nil
}

// inside reports whether the agent or one below it said m. A function may sign
// with a name that no agent has.
func (c *Context) inside(m *memory) bool {
	deeper := m.Branch == c.branch || c.branch == "" || strings.HasPrefix(m.Branch, c.branch+".")
	return deeper && (c.agent.Find(m.Author) != nil || c.agent.root().Find(m.Author) == nil)
}
