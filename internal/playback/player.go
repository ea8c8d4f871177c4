package playback

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/tool"
)

// errDiverged ends a replay that makes a call for which nothing was recorded.
var errDiverged = errors.New("the replay makes a call for which there is no recorded answer")

// player answers the calls of a replay.
type player struct {
	plan      *replay.Plan
	of        *original
	order     *order
	recording *replay.Recording
	models    func(name string) (model.Model, error)
	may       func() error                                               // refuses a call of a model; see Service.MaySpend
	spend     func(resp *model.Response)                                 // counts one
	stop      func(cause error)                                          // ends the replay; nil cancels it as the run was
	saved     func(ctx context.Context, versions map[string]int64) error // copies what a recorded call has saved
	encoded   encodings
	long      map[string]bool // the names of long-running tools

	mu       sync.Mutex
	used     map[*replay.Step]bool
	calls    []*replay.Call
	ending   int                      // how many calls are where the run was cancelled
	recalled map[*model.Response]bool // those of the recording that were yielded
	sent     map[agentrt.Place]int    // how many contents the last request of each agent had
	past     []string                 // branches with calls that the plan has changed, and what follows is live
}

// take finds the recorded counterpart of a call, and notes the call. compare returns
// the differences to a recorded call. Agents that run at the same time make calls in
// any order, so that of several candidates the one without differences is taken.
func (p *player) take(kind replay.Kind, at agentrt.Place, name string, compare func(*replay.Step) []replay.Difference) (*replay.Step, *replay.Call, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &replay.Call{Number: len(p.calls) + 1, Kind: kind, Agent: at.Agent, Branch: at.Branch, Name: name}
	p.calls = append(p.calls, c)
	var found *replay.Step
	for i, s := range p.recording.Steps {
		if p.used[s] || s.Kind != kind || s.Agent != at.Agent || s.Branch != at.Branch || kind == replay.ToolCall && s.Name != name {
			continue
		}
		differences := compare(s)
		if found == nil || len(differences) == 0 {
			found, c.Recorded, c.Differences = s, i+1, differences
		}
		if len(differences) == 0 {
			break
		}
	}
	if found != nil {
		if p.used == nil {
			p.used = map[*replay.Step]bool{}
		}
		p.used[found] = true
	}
	live := p.makes(c)
	if kind == replay.ModelCall && p.follows(c) && !slices.Contains(p.past, at.Branch) {
		p.past = append(p.past, at.Branch)
	}
	c.Live, c.Missing = live, !live && found == nil
	return found, c, live
}

// makes reports whether a call is made. A call that was recorded before the one from
// which on others are made is not, also if an agent in another branch is already there:
// an effect must not depend on which of them is faster. p.mu must be held.
func (p *player) makes(c *replay.Call) bool {
	if p.plan.Makes(c.Recorded, c.Kind) {
		return true
	}
	if _, replaced := p.plan.Results[c.Recorded]; replaced || c.Kind == replay.ToolCall && !p.plan.LiveTools {
		return false
	}
	if c.Recorded > 0 && len(c.Differences) == 0 {
		return false
	}
	if slices.ContainsFunc(p.past, func(branch string) bool { return !agentrt.Apart(branch, c.Branch) }) {
		return true
	}
	return c.Kind == replay.ModelCall && p.follows(c)
}

// follows reports whether a call is the one from which on the plan has others made, or
// follows it in the recording.
func (p *player) follows(c *replay.Call) bool {
	if c.Recorded == 0 {
		return p.plan.From > 0 && c.Number >= p.plan.From
	}
	from := replay.Plan{From: p.plan.From, Results: p.plan.Results}
	return from.Makes(c.Recorded, replay.ModelCall)
}

// Ask implements agentrt.Edges.
func (p *player) Ask(ctx context.Context, at agentrt.Place, m model.Model, req *model.Request, yield func(*model.Response, error) bool) {
	now := p.request(at, req)
	s, c, live := p.take(replay.ModelCall, at, m.Name(), func(s *replay.Step) []replay.Difference { return compareRequests(s, m.Name(), now) })
	switch {
	case live:
		p.ask(ctx, c, m, req, yield)
	case p.wasCancelled(s):
		p.askUntilCancelled(ctx, at, c, yield)
	case s == nil:
		p.stop(errDiverged)
		p.recall(nil)
		yield(nil, errDiverged)
	default:
		resp, err := responseOf(s)
		p.recall(resp)
		yield(resp, err)
	}
}

// recall notes an answer for Recalled.
func (p *player) recall(resp *model.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.recalled == nil {
		p.recalled = map[*model.Response]bool{}
	}
	p.recalled[resp] = true
}

// Recalled implements agentrt.Recalling.
func (p *player) Recalled(resp *model.Response) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	recalled := p.recalled[resp]
	delete(p.recalled, resp)
	return recalled
}

// request returns a request as it is recorded.
func (p *player) request(at agentrt.Place, req *model.Request) *replay.Request {
	contents := req.Contents()
	at.Direct = false
	p.mu.Lock()
	from := added(p.sent[at], len(contents))
	if p.sent == nil {
		p.sent = map[agentrt.Place]int{}
	}
	p.sent[at] = len(contents)
	p.mu.Unlock()
	doc := &replay.Request{Instruction: req.Instruction, Tools: p.encoded.tools(req.Tools).value, Config: p.encoded.config(req.Config).value, Contents: len(contents)}
	for _, c := range contents[from:] {
		if raw, err := c.MarshalJSON(); err == nil {
			doc.Added = append(doc.Added, raw)
		}
	}
	return doc
}

// ask calls a model as the plan says.
func (p *player) ask(ctx context.Context, c *replay.Call, m model.Model, req *model.Request, yield func(*model.Response, error) bool) {
	if err := p.may(); err != nil {
		p.stop(err)
		yield(nil, err)
		return
	}
	defer p.took(c, time.Now())
	var whole *model.Response
	defer func() {
		if whole != nil && whole.Usage != nil {
			p.spend(whole)
		}
	}()
	v := agentrt.Variant{Model: p.plan.Model, Instructions: p.plan.Instructions, Temperature: p.plan.Temperature}
	v.Ask(ctx, agentrt.Place{Agent: c.Agent}, m, req, p.models, func(resp *model.Response, err error) bool {
		if err == nil && resp != nil && !resp.Partial {
			whole = resp
		}
		return yield(resp, err)
	})
}

func (p *player) took(c *replay.Call, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.Milliseconds = float64(time.Since(since).Microseconds()) / 1000
}

// Call implements agentrt.Edges.
func (p *player) Call(tc *tool.Context, at agentrt.Place, t tool.Tool, args json.RawMessage) (any, error) {
	name := t.Declaration().Name
	s, c, live := p.take(replay.ToolCall, at, name, func(s *replay.Step) []replay.Difference {
		if s.Args == nil && p.recording.FromLog {
			return nil // nothing is known
		}
		return compareDocuments("args", orNone(s.Args), orNone(args))
	})
	if s != nil {
		if result, ok := p.plan.Results[c.Recorded]; ok {
			p.mu.Lock()
			c.Replaced, c.Live = true, false
			p.past = append(p.past, at.Branch)
			p.mu.Unlock()
			return result, nil
		}
	}
	switch {
	case live:
		effect := cmp.Or(t.Declaration().Effect, tool.Once)
		p.mu.Lock()
		c.Effect, c.Repeats = string(effect), s != nil && effect != tool.Pure
		p.mu.Unlock()
		defer p.took(c, time.Now())
		return t.Call(tc, args)
	case p.wasCancelled(s):
		return nil, p.untilCancelled(tc, c, fmt.Errorf("%w: the tool %s", errDiverged, name))
	case s == nil:
		p.stop(fmt.Errorf("%w: the tool %s", errDiverged, name))
		return nil, errDiverged
	}
	return p.repeat(s, tc)
}

// orNone returns arguments as a tool gets them: a model may leave them out if there are
// none.
func orNone(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage(`{}`)
	}
	return args
}

// repeat does with the context of a call what the tool did.
func (p *player) repeat(s *replay.Step, tc *tool.Context) (any, error) {
	result, actions, err := resultOf(s)
	if err != nil {
		return nil, err
	}
	if len(actions.ArtifactDelta) > 0 {
		if err := p.saved(tc, actions.ArtifactDelta); err != nil {
			if tc.Err() == nil {
				p.stop(err)
			}
			return nil, err
		}
	}
	// Questions are about the call, which has another id now.
	rename(actions.RequestedAuthConfigs, s.Call, tc.FunctionCallID)
	rename(actions.RequestedToolConfirmations, s.Call, tc.FunctionCallID)
	tc.Actions.Merge(actions)
	switch {
	case s.Error != "":
		return nil, errors.New(s.Error)
	case s.Pending:
		return nil, nil
	}
	return result, nil
}

func rename[V any](m map[string]V, from, to string) {
	if v, ok := m[from]; ok && from != to {
		delete(m, from)
		m[to] = v
	}
}

// made returns the calls so far. A tool that does not end may still change its own.
func (p *player) made() []*replay.Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*replay.Call, len(p.calls))
	for i, c := range p.calls {
		one := *c
		list[i] = &one
	}
	return list
}

// unused returns the numbers of the recorded calls that the replay did not make.
func (p *player) unused() (list []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.recording.Steps {
		if !p.used[s] {
			list = append(list, i+1)
		}
	}
	return list
}

var _ agentrt.Edges = (*player)(nil)
