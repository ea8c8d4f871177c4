package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/tool"
)

// nodeRun is one run of a node.
type nodeRun struct {
	node      *workflowrt.Node
	workflow  *Agent // whose sub-agents are those of the nodes
	info      agentrt.NodeInfo
	scope     string
	isolation string
	given     json.RawMessage // the input before it is checked
	input     json.RawMessage
	ctx       *Context
	up        Emit
	before    *nodeRecord // nil if the log has none
	index     int         // of the node in its graph

	stamp     json.RawMessage // the node's info in events
	mu        sync.Mutex
	output    json.RawMessage
	routes    []string
	closed    bool // an event has said what the outcome is
	reported  *event.Event
	emitted   int            // events of the function
	asked     int            // requests for input in this attempt
	counts    map[string]int // runs of other nodes in this attempt, by name
	begun     map[string]func() (*nodeRun, error)
	err       error
	completed bool          // without an error
	hooked    event.Actions // of plugins before the node
	concluded bool          // plugins have seen the output
}

// newNodeRun returns a run of a node in c, which is the context of the workflow or
// of the node that runs it.
func (c *Context) newNodeRun(workflow *Agent, n *workflowrt.Node, info agentrt.NodeInfo, branch string, input json.RawMessage, up Emit) *nodeRun {
	r := &nodeRun{node: n, workflow: workflow, info: info, scope: info.Scope(), given: input, input: input, up: up}
	switch {
	case n.IsolationScope == workflowrt.OwnScope:
		r.isolation = info.Path + "@" + info.RunID
	case n.IsolationScope != "":
		r.isolation = n.IsolationScope
	case c.node != nil:
		r.isolation = c.node.isolation
	}
	r.stamp = rawJSON(info)
	r.ctx = c.with(func(sub *Context) { sub.node, sub.branch, sub.last, sub.resume = r, branch, false, nil })
	r.before = c.inv.nodes().take(r.scope)
	return r
}

// do runs the node, unless the log says how the run ended.
func (r *nodeRun) do() error {
	known, err := r.known()
	if !known {
		err = r.work()
	}
	if err == nil || errors.Is(err, ErrWaiting) {
		if taken := r.takeAll(); taken != nil {
			return taken
		}
	}
	r.completed = err == nil
	return err
}

// work runs the node, unless a plugin has an output in its place.
func (r *nodeRun) work() error {
	output, err := r.beforeNode()
	if err != nil {
		return err
	}
	if output == nil {
		return r.attempts()
	}
	r.concluded = true
	return r.emit(&event.Event{Actions: r.hooked, Extra: map[string]json.RawMessage{agentrt.OutputMember: output}})
}

// takeAll takes what is left of the past of the run: it is over.
func (r *nodeRun) takeAll() error {
	p := r.ctx.inv.past
	if p == nil {
		return nil
	}
	for _, m := range p.events {
		if agentrt.Within(m.scope, r.scope) && !p.isTaken(m) {
			if err := p.take(m, r.up); err != nil {
				return err
			}
		}
	}
	return nil
}

// known reports whether the log says how the run ended, or that it waits.
func (r *nodeRun) known() (bool, error) {
	b := r.before
	if b != nil && b.ended {
		if f := b.failed; f != nil {
			return true, &agentrt.Failure{Code: f.ErrorCode, Message: "node " + r.info.Path + ": " + f.ErrorMessage}
		}
		r.adopt(b)
		return true, nil
	}
	if r.node.Agent != nil {
		return r.knownAgent()
	}
	if b == nil || len(b.asked) == 0 {
		return false, nil
	}
	rerun := r.node.RerunOnResume || r.node.Tool != nil
	if b.open() {
		if rerun && b.answered {
			return false, nil
		}
		if ready, err := r.loggedIn(); ready || err != nil {
			return err != nil, err
		}
		return true, r.waits()
	}
	if answer := b.answeredCall(r.node.Tool); answer != nil {
		r.adopt(b)
		r.output = answer
		return true, nil
	}
	inputs := b.inputs()
	if rerun || len(inputs) == 0 {
		return false, nil
	}
	r.adopt(b)
	r.output = inputs[0].answer
	if len(inputs) > 1 {
		all := make([]json.RawMessage, len(inputs))
		for i, q := range inputs {
			all[i] = q.answer
		}
		r.output = rawJSON(all)
	}
	return true, nil
}

// adopt takes the outcome from the log.
func (r *nodeRun) adopt(b *nodeRecord) {
	r.output, r.routes = b.output, b.routes
	if b.branch != "" {
		r.ctx.branch = b.branch
	}
}

// knownAgent is known for agents. What they did in this run they repeat from the
// log themselves.
func (r *nodeRun) knownAgent() (bool, error) {
	var resume *agentrt.Resume
	open, earlier, now := false, false, false
	r.ctx.inv.nodes().within(r.scope, func(b *nodeRecord) {
		open = open || b.open()
		now = now || b.now || b.answered
		earlier = earlier || !b.now || len(b.asked) > 0
		if !b.answered {
			return
		}
		for _, q := range b.asked {
			name := q.event.Author
			if b.scope != r.scope {
				name, _, _ = strings.Cut(b.scope[len(r.scope)+1:], ".")
				name, _, _ = strings.Cut(name, "@")
			}
			if resume == nil {
				resume = &agentrt.Resume{Agent: name, InvocationID: q.event.InvocationID}
			} else if !resume.Names(name) {
				resume.Others = append(resume.Others, name)
			}
		}
	})
	switch {
	case resume != nil:
		r.ctx.resume = resume
		return false, nil
	case now || !earlier:
		return false, nil
	case open:
		return true, ErrWaiting
	case r.own().graph != nil:
		// Its nodes have finished: they say what its output is.
		a := r.agent()
		return true, a.guarded(r.ctx.enter(a), r.emit)
	}
	if r.before != nil {
		r.adopt(r.before)
	}
	return true, nil
}

// agent is the agent of the node in the tree of the run.
func (r *nodeRun) agent() *Agent {
	for _, sub := range r.workflow.subAgents {
		if sub.name == r.node.Agent.Name() {
			return sub
		}
	}
	return r.own()
}

// own is the agent that the node was made of, nil if it was made of something else.
func (r *nodeRun) own() *Agent {
	a, _ := r.node.Agent.(*Agent)
	return a
}

// is reports whether the node is made of an agent. r may be nil.
func (r *nodeRun) is(a *Agent) bool {
	return r != nil && r.node.Agent != nil && r.node.Agent.Name() == a.name
}

// attempts runs the node until it does not fail, or not again.
func (r *nodeRun) attempts() error {
	inv := r.ctx.inv
	first := 1
	if r.node.Agent == nil {
		if err := r.logIn(); err != nil {
			return err
		}
		if err := r.begin(); err != nil {
			return err
		}
		if note, ok := inv.noted(attemptNote(r.scope)); ok {
			if _, err := fmt.Sscan(string(note), &first, &r.emitted); err != nil {
				return fmt.Errorf("read the attempts of node %s: %w", r.info.Path, err)
			}
			first++
		}
	}
	for attempt := first; ; attempt++ {
		if attempt > 1 {
			if err := r.retried(attempt); err != nil {
				return err
			}
		}
		if attempt > first && r.node.Agent == nil {
			// The attempt before may have found out that the login is no longer valid.
			if err := r.logIn(); err != nil {
				return err
			}
		}
		r.output, r.routes, r.closed, r.reported, r.asked, r.counts, r.begun, r.concluded = nil, nil, false, nil, 0, nil, nil, false
		err := r.once(attempt)
		if err == nil || !r.repeatable(err) {
			return err
		}
		pause, again := r.node.Again(attempt, err)
		if !again {
			return err
		}
		inv.note(attemptNote(r.scope), fmt.Append(nil, attempt, " ", r.emitted))
		if err := retry.Sleep(r.ctx, pause); err != nil {
			return err
		}
	}
}

// retried puts the number of an attempt into the events of the node. Readers get
// it when the attempt begins; it is stored with the first event.
func (r *nodeRun) retried(attempt int) error {
	r.info.Attempt = attempt
	r.stamp = rawJSON(r.info)
	return r.emit(&event.Event{Partial: true})
}

// attemptNote is about the attempts of a node that have failed: how many they are,
// and how many events they have emitted.
func attemptNote(scope string) string { return "attempt/" + scope }

// begin notes that the function begins, if it must not begin twice.
func (r *nodeRun) begin() error {
	inv := r.ctx.inv
	if e := r.node.Effect; inv.Journal == nil || e != tool.Once && e != tool.Ask {
		return nil
	}
	if _, ok := inv.noted(begunNote(r.scope)); ok {
		return workflowrt.NodeError(r.info.Path, errors.New("it was interrupted before it finished; it may or may not have taken effect"))
	}
	inv.note(begunNote(r.scope), []byte("1"))
	if err := inv.Journal.Flush(); err != nil {
		return fmt.Errorf("note that node %s begins: %w", r.info.Path, err)
	}
	return nil
}

// repeatable reports whether a failure is one that another attempt may avoid.
func (r *nodeRun) repeatable(err error) bool {
	if _, _, inner := workflowrt.FindNodeError(err); inner || errors.Is(err, ErrWaiting) || errors.Is(err, ErrCannotResume) || r.ctx.Err() != nil {
		return false
	}
	if other := (*agentrt.NodeFailure)(nil); errors.As(err, &other) {
		return !other.Final
	}
	switch failure, crashed := (*agentrt.Failure)(nil), (*agentrt.Panic)(nil); {
	case errors.As(err, &crashed):
		return false
	case errors.As(err, &failure):
		return !isLimit(failure.Code)
	}
	return true
}

// once makes one attempt.
func (r *nodeRun) once(attempt int) (err error) {
	defer agentrt.Recover(&err, "node", r.info.Path)
	ctx := r.ctx
	if limit := r.node.Timeout; limit > 0 {
		within, cancel := context.WithTimeoutCause(ctx.Context, limit, &workflowrt.TimeoutError{Limit: limit})
		defer cancel()
		ctx = ctx.WithContext(within)
		defer func() {
			if late := (*workflowrt.TimeoutError)(nil); err != nil && errors.As(context.Cause(within), &late) {
				err = late
			}
		}()
	}
	if r.input, err = r.check(workflowrt.InputData, r.given); err != nil {
		return err
	}
	if r.node.Agent != nil {
		return r.runAgent(ctx)
	}
	c := &nodeContext{ctx: ctx, run: r, attempt: attempt}
	c.actions.Merge(&r.hooked)
	c.tool = ctx.toolContext(&c.actions)
	c.tool.FunctionCallID = r.callID()
	var out json.RawMessage
	if t := r.node.Tool; t != nil {
		err = c.call(t, r.input)
	} else {
		out, err = r.node.Body(c, r.input)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	return r.finish(out, c)
}

// check returns the data of the node as its Check has it.
func (r *nodeRun) check(data string, value json.RawMessage) (json.RawMessage, error) {
	if r.node.Check == nil || value == nil {
		return value, nil
	}
	return r.node.Check(r.ctx.toolContext(&event.Actions{}), data, value)
}

// checkState checks what an event changes in the state.
func (r *nodeRun) checkState(ev *event.Event) error {
	if r.node.Check == nil || ev.Partial || len(ev.Actions.StateDelta) == 0 {
		return nil
	}
	_, err := r.check(workflowrt.StateData, rawJSON(ev.Actions.StateDelta))
	return err
}

// callID identifies the run of the node, also when the user's answer resumes it.
func (r *nodeRun) callID() string {
	run := r.ctx.inv.ID
	if b := r.before; b != nil && len(b.asked) > 0 {
		run = cmp.Or(b.asked[0].event.InvocationID, run)
	}
	return run + ":" + r.scope
}

// finish emits the end of a function.
func (r *nodeRun) finish(out json.RawMessage, c *nodeContext) error {
	ev := &event.Event{Actions: c.actions}
	if out != nil {
		ev.Extra = map[string]json.RawMessage{agentrt.OutputMember: out}
		if !r.node.Quiet {
			ev.Content = message(out)
		}
	}
	if len(c.routes) > 0 {
		ev.Actions.Merge(&event.Actions{Extra: map[string]json.RawMessage{agentrt.RouteMember: rawJSON(c.routes)}})
		if len(c.routes) == 1 {
			ev.Actions.Extra[agentrt.RouteMember] = rawJSON(c.routes[0])
		}
	}
	if out == nil && len(c.routes) == 0 {
		if r.closed && c.actions.Empty() {
			return nil
		}
		ev.Actions.EndOfAgent = true
		if !r.closed {
			if err := r.replace(ev); err != nil {
				return err
			}
		}
	}
	return r.emit(ev)
}

// runAgent runs the agent of the node.
func (r *nodeRun) runAgent(ctx *Context) error {
	a := r.agent()
	if err := a.Run(ctx, r.emit); err != nil {
		return err
	}
	if f := r.reported; f != nil && r.output == nil && r.routes == nil {
		return &agentrt.Failure{Code: f.ErrorCode, Message: fmt.Sprintf("node %s: %s: %s", r.info.Path, f.ErrorCode, f.ErrorMessage)}
	}
	end := &event.Event{}
	if err := r.replace(end); err != nil {
		return err
	}
	if end.Extra == nil {
		if a.graph != nil || a.llm != nil && r.output != nil {
			return nil
		}
		end.Actions.EndOfAgent = true
	}
	return r.emit(end)
}

// replace gives the event that ends the node the output that plugins have in place
// of the node's.
func (r *nodeRun) replace(end *event.Event) error {
	output, err := r.afterNode(r.output, &end.Actions)
	if err != nil || output == nil {
		return err
	}
	if end.Extra == nil {
		end.Extra = map[string]json.RawMessage{}
	}
	end.Extra[agentrt.OutputMember] = output
	return nil
}

// emit emits an event of the node.
func (r *nodeRun) emit(ev *event.Event) error {
	if r.ctx.inv.past.holds(ev) {
		r.saw(ev)
		return r.up(ev)
	}
	if _, deeper := ev.Extra[agentrt.NodeMember]; deeper {
		if info, ok := agentrt.NodeOf(ev); ok && info.Scope() != r.scope {
			return r.up(ev)
		}
	}
	if err := r.checkState(ev); err != nil {
		return err
	}
	if ev.Author == "" {
		ev.Author = r.node.Name
	}
	if ev.Branch == "" {
		ev.Branch = r.ctx.branch
	}
	extra := maps.Clone(ev.Extra)
	if extra == nil {
		extra = make(map[string]json.RawMessage, 3)
	}
	info, stamp := r.info, r.stamp
	if given := extra[agentrt.NodeMember]; given != nil {
		var only agentrt.NodeInfo
		info.More = json.Unmarshal(given, &only) == nil && only.More
	}
	if a := r.own(); a != nil && a.llm != nil && extra[agentrt.OutputMember] == nil {
		if out := a.llm.nodeOutput(r, ev); out != nil {
			extra[agentrt.OutputMember], info.MessageAsOutput = out, true
		}
	}
	if output := extra[agentrt.OutputMember]; output != nil && r.node.Agent == nil && !info.More {
		output, err := r.check(workflowrt.OutputData, output)
		if err != nil {
			return err
		}
		other, err := r.afterNode(output, &ev.Actions)
		if err != nil {
			return err
		}
		if other != nil {
			output = other
		}
		extra[agentrt.OutputMember] = output
	}
	if extra[agentrt.OutputMember] != nil {
		info.OutputFor = []string{info.Path}
		stamp = rawJSON(info)
	}
	extra[agentrt.NodeMember] = stamp
	if r.isolation != "" && extra[agentrt.ScopeMember] == nil {
		extra[agentrt.ScopeMember] = rawJSON(r.isolation)
	}
	ev.Extra = extra
	r.saw(ev)
	return r.up(ev)
}

// saw notes what an event of the node says about its outcome.
func (r *nodeRun) saw(ev *event.Event) {
	if ev.Partial {
		return
	}
	info, ok := agentrt.NodeOf(ev)
	if !ok || info.Scope() != r.scope {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if out := ev.Extra[agentrt.OutputMember]; out != nil {
		r.output, r.closed = out, !info.More
	}
	if routes := routesOf(ev); routes != nil {
		r.routes, r.closed = routes, true
	}
	if ev.ErrorCode != "" {
		r.reported = ev
	}
}

// nodeOutput is the answer of an agent as the output of its node, nil if ev is not
// an answer.
func (l *llm) nodeOutput(r *nodeRun, ev *event.Event) json.RawMessage {
	if l.cfg.Task {
		return l.finishes(r, ev)
	}
	if ev.Partial || ev.Content == nil || ev.Content.Role != event.RoleModel || len(ev.FunctionCalls()) > 0 ||
		l.coder != nil && (codeIn(ev) != nil || isExecution(ev)) {
		return nil
	}
	return l.output(ev.Content.Text())
}

// message is the output of a function as the user sees it: of texts, of an object
// its member text, and of everything else the JSON.
func message(output json.RawMessage) *event.Content {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return event.Text(event.RoleModel, text)
	}
	var texts []string
	if json.Unmarshal(output, &texts) == nil && len(texts) > 0 {
		c := &event.Content{Role: event.RoleModel}
		for _, text := range texts {
			c.Parts = append(c.Parts, &event.Part{Text: text})
		}
		return c
	}
	var part struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(output, &part) == nil && part.Text != nil {
		return event.Text(event.RoleModel, *part.Text)
	}
	return event.Text(event.RoleModel, string(output))
}
