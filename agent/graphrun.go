package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/internal/workflowrt"
)

// graphRun is one run of a workflow. Only the goroutine of run uses it.
type graphRun struct {
	*workflowrt.Graph

	ctx    *Context
	within *Context // ends when a node fails
	emit   Emit
	scope  string // what the paths of its nodes begin with
	states []nodeState
	ready  []int // nodes that have triggers, in the order of the first
	done   chan *nodeRun
	active int
	waits  bool
}

// nodeState is how far a node has come.
type nodeState struct {
	triggers []trigger
	running  bool
	waiting  bool // for the user, so that no trigger runs it
	finished bool
	ids      map[string]bool // of its runs
	count    int             // of its runs that the log does not have
	latest   int             // the run that output and branch are of
	output   json.RawMessage
	branch   string
}

// trigger is why a node runs.
type trigger struct {
	from      string // the run of the node before; empty for the start and for joins
	input     json.RawMessage
	branch    string // empty for that of the workflow
	subBranch bool
}

// runGraph is the body of a workflow.
func runGraph(g *workflowrt.Graph, ctx *Context, emit Emit) error {
	r := &graphRun{Graph: g, ctx: ctx, emit: emit, states: make([]nodeState, len(g.Nodes)), done: make(chan *nodeRun, len(g.Nodes))}
	input := ctx.userInput()
	own := ctx.node.is(ctx.agent)
	switch {
	case own:
		r.scope, input = ctx.node.scope, ctx.node.input
	case ctx.node != nil:
		r.scope = ctx.inv.graphScope(ctx.node.scope + "." + ctx.agent.name)
	default:
		r.scope = ctx.inv.graphScope(ctx.agent.name)
	}
	group, cancel := context.WithCancelCause(ctx.Context)
	defer cancel(nil)
	r.within = ctx.WithContext(group)
	if g.Entry != nil {
		return r.enter(input)
	}
	if own {
		output, err := r.walk(input, cancel)
		if output != nil {
			ctx.node.output = output
		}
		return err
	}
	// To plugins, a workflow that is not a node is one.
	one := &nodeRun{
		node: &workflowrt.Node{Name: ctx.agent.name, Agent: ctx.agent}, info: agentrt.NodeInfo{Path: r.scope, RunID: "1"}, scope: r.scope,
		input: input, ctx: r.within,
	}
	output, err := one.beforeNode()
	if output == nil && err == nil {
		if output, err = r.walk(input, cancel); err == nil && !ctx.inv.ended.Load() {
			var other json.RawMessage
			if other, err = one.afterNode(output, &event.Actions{}); other != nil {
				output = other
			}
		}
	}
	if output == nil || err != nil {
		return err
	}
	return r.conclude(output)
}

// walk runs the nodes, and returns the output of the workflow.
func (r *graphRun) walk(input json.RawMessage, cancel context.CancelCauseFunc) (json.RawMessage, error) {
	for _, i := range r.Start {
		r.push(i, trigger{input: input, subBranch: len(r.Start) > 1})
	}
	if err := r.loop(cancel); err != nil {
		return nil, err
	}
	if r.waits {
		return nil, ErrWaiting
	}
	if r.ctx.inv.ended.Load() {
		return nil, nil
	}
	return r.output()
}

// enter runs the function of the workflow. Its path is that of the workflow.
func (r *graphRun) enter(input json.RawMessage) error {
	info := agentrt.NodeInfo{Path: r.scope, RunID: "1"}
	one := r.within.newNodeRun(r.ctx.agent, r.Entry, info, r.ctx.branch, input, r.emit)
	err := one.do()
	if err != nil && !errors.Is(err, ErrWaiting) {
		return r.failed(one, err)
	}
	if r.ctx.node != nil {
		r.ctx.node.output = one.output
	}
	return err
}

// userInput is the input of a workflow that is not a node: the text of the
// message that began the run, and of the first of those that it resumes.
func (c *Context) userInput() json.RawMessage {
	content := c.inv.UserContent
	if c.inv.Resume != nil {
		runs := c.inv.runsBefore()
		for i := c.inv.firstOfRuns(); i < c.inv.Log.Len(); i++ {
			if ev := c.inv.Log.At(i); ev.Author == event.User && runs[ev.InvocationID] && ev.Content != nil {
				content = ev.Content
				break
			}
		}
	}
	if content == nil {
		return nil
	}
	if slices.ContainsFunc(content.Parts, (*event.Part).IsText) {
		return wire.Quote(nil, content.Text())
	}
	doc, err := json.Marshal(content)
	if err != nil {
		return nil
	}
	return doc
}

// graphScope is the scope of the next run of a workflow that is not a node, which
// a loop may run several times.
func (inv *invocation) graphScope(path string) string {
	w := inv.workflowLog()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.graphs == nil {
		w.graphs = map[string]int{}
	}
	if w.graphs[path] == 0 && inv.Resume != nil {
		w.graphs[path] = inv.nodes().resumedRun(path) - 1
	}
	w.graphs[path]++
	return agentrt.RunScope(path, strconv.Itoa(w.graphs[path]))
}

// resumedRun is the number of the run of a workflow that the message of this run
// resumes.
func (all *nodeRecords) resumedRun(path string) int {
	if all == nil {
		return 1
	}
	for _, r := range slices.Backward(all.order) {
		rest, ok := strings.CutPrefix(r.scope, path)
		if !r.answered || !ok {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimPrefix(rest, "@"), ".")
		if n, err := strconv.Atoi(number); err == nil && rest[0] == '@' {
			return n
		}
	}
	return 1
}

// loop runs nodes until none is ready.
func (r *graphRun) loop(cancel context.CancelCauseFunc) error {
	for {
		begun := r.begin()
		if len(begun) == 1 && r.active == 0 {
			begun[0].err = begun[0].do()
			r.done <- begun[0]
		} else {
			for _, one := range begun {
				go func() {
					one.err = one.do()
					r.done <- one
				}()
			}
		}
		r.active += len(begun)
		if r.active == 0 {
			return nil
		}
		one := <-r.done
		r.active--
		if err := one.err; err != nil && !errors.Is(err, ErrWaiting) {
			cancel(err)
			for ; r.active > 0; r.active-- {
				<-r.done
			}
			return r.failed(one, err)
		}
		r.finish(one)
	}
}

// push lets a node run, when it can.
func (r *graphRun) push(node int, t trigger) {
	s := &r.states[node]
	if len(s.triggers) == 0 {
		r.ready = append(r.ready, node)
	}
	s.triggers = append(s.triggers, t)
}

// begin returns runs of the nodes that can run now.
func (r *graphRun) begin() (begun []*nodeRun) {
	if r.ctx.inv.ended.Load() {
		return nil
	}
	for i := 0; i < len(r.ready); {
		node := r.ready[i]
		s := &r.states[node]
		if s.running || s.waiting {
			i++
			continue
		}
		if r.Most > 0 && r.active+len(begun) >= r.Most {
			break
		}
		t := s.triggers[0]
		if s.triggers = s.triggers[1:]; len(s.triggers) == 0 {
			r.ready = slices.Delete(r.ready, i, i+1)
		} else {
			i++
		}
		s.running, s.finished = true, false
		begun = append(begun, r.start(node, t))
	}
	return begun
}

// start returns the next run of a node.
func (r *graphRun) start(node int, t trigger) *nodeRun {
	n, s := r.Nodes[node], &r.states[node]
	info := agentrt.NodeInfo{Path: r.scope + "." + n.Name, Trigger: t.from}
	if s.ids == nil {
		s.ids = map[string]bool{}
	}
	records := r.ctx.inv.nodes()
	if info.RunID = records.runID(info.Path, t.from, s.ids); info.RunID == "" {
		for info.RunID == "" || s.ids[info.RunID] || records.taken(info.Path, info.RunID) {
			s.count++
			info.RunID = strconv.Itoa(s.count)
		}
	}
	s.ids[info.RunID] = true
	branch := r.ctx.branch
	switch {
	case t.branch != "":
		branch = t.branch
	case t.subBranch:
		branch = joinBranch(branch, n.Name+"@"+info.RunID)
	}
	run := r.within.newNodeRun(r.ctx.agent, n, info, branch, t.input, r.emit)
	run.index = node
	return run
}

// finish lets the nodes after one that has finished run.
func (r *graphRun) finish(one *nodeRun) {
	s, n := &r.states[one.index], one.node
	s.running = false
	if !one.completed {
		s.waiting, r.waits = true, true
		return
	}
	if n.WaitForOutput && one.output == nil && one.routes == nil {
		return
	}
	s.finished = true
	// Runs that are taken from the log may come in another order.
	if number, err := strconv.Atoi(one.info.RunID); err != nil || number > s.latest {
		s.latest, s.branch = number, one.ctx.branch
		if one.output != nil {
			s.output = one.output
		}
	}
	next := r.Next(one.index, one.routes)
	from := agentrt.RunScope(n.Name, one.info.RunID)
	for _, node := range next {
		if r.Nodes[node].Joins {
			r.join(node)
			continue
		}
		r.push(node, trigger{from: from, input: one.output, branch: one.branchFor(r.ctx), subBranch: len(next) > 1})
	}
}

// branchFor is the branch of the nodes after this one: empty if it is that of the
// workflow.
func (r *nodeRun) branchFor(workflow *Context) string {
	if r.ctx.branch == workflow.branch {
		return ""
	}
	return r.ctx.branch
}

// join runs a join if all nodes before it have finished.
func (r *graphRun) join(node int) {
	var input bytes.Buffer
	var common []string
	for i, before := range r.Before[node] {
		s := &r.states[before]
		if !s.finished || s.running || len(s.triggers) > 0 {
			return
		}
		input.WriteByte("{,"[min(i, 1)])
		input.Write(rawJSON(r.Nodes[before].Name))
		input.WriteByte(':')
		input.Write(nullable(s.output))
		common = prefix(i == 0, common, strings.Split(s.branch, "."))
	}
	input.WriteByte('}')
	branch := strings.Join(common, ".")
	if branch == r.ctx.branch {
		branch = ""
	}
	r.push(node, trigger{input: input.Bytes(), branch: branch}) // by all of them
}

// prefix is what a and b begin with, or b if it is the first.
func prefix(first bool, a, b []string) []string {
	if first {
		return b
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// failed emits the failure of a node, and returns that of the workflow.
func (r *graphRun) failed(one *nodeRun, err error) error {
	var (
		reported *agentrt.Failure
		crashed  *agentrt.Panic
	)
	if errors.As(err, &reported) || errors.As(err, &crashed) || errors.Is(err, ErrCannotResume) || r.ctx.Err() != nil {
		return err
	}
	message := err.Error()
	if path, reason, ok := workflowrt.FindNodeError(err); ok && path == one.info.Path {
		message = reason.Error()
	}
	f := &agentrt.Failure{Code: "UNKNOWN_ERROR", Message: agentrt.ScrubText(r.ctx.inv.Secrets, message)}
	if late := (*workflowrt.TimeoutError)(nil); errors.As(err, &late) {
		f.Code = "NODE_TIMEOUT"
	}
	if other := (*agentrt.NodeFailure)(nil); errors.As(err, &other) {
		f.Code = cmp.Or(other.Code, f.Code)
	}
	ev := &event.Event{ErrorCode: f.Code, ErrorMessage: f.Message, Actions: event.Actions{EndOfAgent: true}}
	if err := one.emit(ev); err != nil {
		return err
	}
	f.Message = "node " + one.info.Path + ": " + f.Message
	return f
}

// output is that of the node at which the workflow has ended, nil if it has none.
func (r *graphRun) output() (json.RawMessage, error) {
	var output json.RawMessage
	var names []string
	for i, n := range r.Nodes {
		if len(r.Out[i]) == 0 && r.states[i].output != nil {
			output = r.states[i].output
			names = append(names, n.Name)
		}
	}
	if len(names) > 1 {
		return nil, workflowrt.NodeError(r.scope, errors.New("several nodes at which it ends have an output: "+strings.Join(names, ", ")+"; join them"))
	}
	return output, nil
}

// conclude emits the output of the workflow, unless it is what a node has emitted
// last.
func (r *graphRun) conclude(output json.RawMessage) error {
	log := r.ctx.inv.Log
	for i := log.Len() - 1; i >= 0; i-- {
		ev := log.At(i)
		if ev.InvocationID != r.ctx.inv.ID && ev.InvocationID != "" {
			break
		}
		if info, ok := agentrt.NodeOf(ev); ok && agentrt.Within(info.Scope(), r.scope) && ev.Extra[agentrt.OutputMember] != nil {
			if bytes.Equal(ev.Extra[agentrt.OutputMember], output) {
				return nil
			}
			break
		}
	}
	return r.emit(&event.Event{
		Content: message(output),
		Extra: map[string]json.RawMessage{
			agentrt.OutputMember: output,
			agentrt.NodeMember:   rawJSON(agentrt.NodeInfo{Path: r.scope, OutputFor: []string{r.scope}}),
		},
	})
}
