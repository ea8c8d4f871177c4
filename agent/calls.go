package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

func newCallID() string { return ident.Call(model.CallIDPrefix) }

// next is how the loop goes on after the calls of one model response.
type next struct {
	transfer   *Agent // to another agent, for good
	stop       bool   // the results are the answer
	waiting    bool   // a call will be answered from outside
	unanswered bool   // a call has no result to show to the model
}

// outcome is what became of one call.
type outcome struct {
	response json.RawMessage
	actions  event.Actions
	pending  bool // a long-running tool gave no receipt
	asks     bool // only the user can find out what became of it
	settled  bool // by the process that had the run before
	failed   bool // response is the error of the tool
	err      error
	step     *observedStep // nil if there is no observer, or nothing was called
}

// act makes the calls of one model response, said, and says how to go on.
func (l *llm) act(ctx *Context, said *event.Event, calls []*event.FunctionCall, emit Emit) (n next, err error) {
	// Before the answer there may be events that ask the user something.
	var asked []*event.Event
	answer, err := ctx.replay(emit)
	for err == nil && answer != nil && asks(answer) {
		asked = append(asked, answer)
		answer, err = ctx.replay(emit)
	}
	switch {
	case err != nil:
	case answer == nil:
		answer, n.unanswered, err = l.perform(ctx, said, calls, asked, emit)
	case answer.ErrorCode != "":
		err = &agentrt.Failure{Code: answer.ErrorCode, Message: answer.ErrorMessage}
	default:
		n.unanswered = slices.ContainsFunc(said.LongRunningToolIDs, ctx.wasPending)
	}
	if err != nil {
		return next{}, err
	}
	n.unanswered = n.unanswered || awaits(answer) || len(answer.LongRunningToolIDs) > 0
	n.stop = ctx.inv.single || answer.Actions.SkipSummarization || l.finishes(ctx.ownNode(), answer) != nil
	n.waiting = len(said.LongRunningToolIDs) > 0 && slices.ContainsFunc(answer.FunctionResponses(), func(r *event.FunctionResponse) bool {
		return !agentrt.Closed(r) && slices.Contains(said.LongRunningToolIDs, r.ID)
	})
	if name := answer.Actions.TransferToAgent; name != "" && !ctx.inv.single {
		if n.transfer = ctx.agent.root().Find(name); n.transfer == nil {
			return next{}, fmt.Errorf("agent %s wants to hand over to %s, which is not in its tree", ctx.agent.name, name)
		}
	}
	return n, nil
}

// perform makes the calls at the same time and emits one event with their
// results, in the order of the calls. unanswered means that one of them has no
// result to show to the model.
func (l *llm) perform(ctx *Context, said *event.Event, calls []*event.FunctionCall, asked []*event.Event, emit Emit) (answer *event.Event, unanswered bool, err error) {
	made := &struct { // one allocation, as below
		first  [1]outcome
		budget bounded.Budget
	}{}
	outcomes := made.first[:]
	if len(calls) > 1 {
		outcomes = make([]outcome, len(calls))
	}
	before, err := ctx.history(said)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		id := ""
		if answer != nil {
			id = answer.ID
		}
		for i := range outcomes {
			outcomes[i].step.close(id)
			outcomes[i].step = nil
		}
	}()
	budget := &made.budget
	budget.Begin(ctx)
	if len(calls) == 1 {
		l.call(ctx, calls[0], before, budget, &outcomes[0])
	} else {
		l.together(ctx, calls, outcomes, before, budget)
	}
	type answered struct {
		part     event.Part
		response event.FunctionResponse
	}
	whole := &struct { // one allocation; see BenchmarkRun in package bench
		event   event.Event
		content event.Content
		first   answered
		parts   [1]*event.Part
	}{content: event.Content{Role: event.RoleUser}}
	answer = &whole.event
	answer.Content = &whole.content
	if answer.Content.Parts = whole.parts[:]; len(calls) > 1 {
		answer.Content.Parts = make([]*event.Part, len(calls))
	}
	for i := range outcomes {
		out := &outcomes[i]
		if out.err != nil {
			return nil, false, out.err
		}
		both := &whole.first
		if i > 0 {
			both = &answered{}
		}
		both.response = event.FunctionResponse{ID: calls[i].ID, Name: calls[i].Name, Response: out.response}
		both.part.FunctionResponse = &both.response
		answer.Content.Parts[i] = &both.part
		answer.Actions.Merge(&out.actions)
		ctx.notePending(calls[i].ID, out.pending)
		unanswered = unanswered || out.pending || out.asks
		if out.asks {
			answer.LongRunningToolIDs = append(answer.LongRunningToolIDs, calls[i].ID)
		}
	}
	answer.Actions.SkipSummarization = answer.Actions.SkipSummarization || ctx.inv.single
	answer.Actions.Extra = nameOnly(outcomes, answer.Actions.Extra)
	user := awaits(answer)
	if user {
		for i := range outcomes { // stored with the first event that asks
			if err := ctx.noteCall(calls[i], &outcomes[i]); err != nil {
				return nil, false, err
			}
		}
		if err := ctx.askLogins(calls, &answer.Actions, asked, emit); err != nil {
			return nil, false, err
		}
		if err := ctx.askLifted(outcomes, asked, emit); err != nil {
			return nil, false, err
		}
		if err := ctx.askConfirmations(calls, &answer.Actions, asked, emit); err != nil {
			return nil, false, err
		}
	}
	if out := l.finishes(ctx.ownNode(), answer); out != nil && l.cfg.OutputKey != "" {
		answer.Actions.Merge(&event.Actions{StateDelta: map[string]json.RawMessage{l.cfg.OutputKey: out}})
	}
	if err := emit(answer); err != nil {
		return nil, false, err
	}
	if len(calls) > 1 || user || before.begun != nil {
		ctx.forget(calls) // not before, or a crash in between would lose them
	}
	return answer, unanswered, nil
}

// together makes several calls at the same time. It notes the outcome of each
// for a process that may continue the run, since the event with all of them is
// emitted after the last.
func (l *llm) together(ctx *Context, calls []*event.FunctionCall, outcomes []outcome, before history, budget *bounded.Budget) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(len(calls)))
	for i, call := range calls {
		wg.Go(func() {
			out := &outcomes[i]
			l.call(ctx, call, before, budget, out)
			if left.Add(-1) > 0 && !out.settled && out.err == nil {
				out.err = ctx.keep(call, out)
			}
		})
	}
	wg.Wait()
}

// noTool tells a model that has called a tool that is not there which ones are.
func noTool(name string, tools map[string]tool.Tool) string {
	if len(tools) == 0 {
		return fmt.Sprintf("There is no tool %s, nor any other.", name)
	}
	return fmt.Sprintf("There is no tool %s. The tools are: %s.", name, strings.Join(slices.Sorted(maps.Keys(tools)), ", "))
}

// call makes one call, and puts what became of it into out. Whatever goes wrong
// in the tool is a result that the model sees, except a panic and the end of the
// run.
func (l *llm) call(ctx *Context, call *event.FunctionCall, before history, budget *bounded.Budget, out *outcome) {
	defer func() { out.step.done(out.err) }() // if it has panicked
	defer agentrt.Recover(&out.err, "tool", call.Name)
	t := ctx.box.tools[call.Name]
	decision := ctx.decisions[call.ID]
	if decision != nil && !decision.Confirmed {
		out.response = agentrt.Reject(decision.Reason)
		return
	}
	if decision != nil && decision.Args != nil {
		edited := *call // the event keeps what the model wrote
		edited.Args = decision.Args
		call = &edited
	}
	if known, ok := ctx.settled(before, call, t, decision); ok {
		*out = known
		return
	}
	if t == nil {
		out.response = toolresult.Error(noTool(call.Name, ctx.box.tools))
		return
	}
	step, within := callStep(ctx, call, t)
	out.step = step
	tc := within.toolContext(&out.actions)
	tc.FunctionCallID, tc.Confirmation = call.ID, decision
	tc.Context = budget.Call(tc.Context)
	result, err := l.result(ctx, tc, t, call.Args)
	ownQuestions(&out.actions, call.ID)
	switch {
	case ctx.Err() != nil:
		out.err = ctx.Err()
	case err != nil:
		out.response, out.failed = errorResult(err), true
	case result == nil:
		out.pending = true
		out.response = json.RawMessage(`{"status":"pending"}`)
	default:
		out.response = result
	}
	if large := bounded.Fits(tc, int64(len(out.response))); large != nil {
		out.response = toolresult.Error(large.Error() + ": ask for less")
	}
	if decision != nil && decision.Args != nil {
		out.response = withEdits(out.response, decision.Args)
	}
	ctx.hide(out)
	step.returned(out, err)
}

// errorResult is what the model sees of a call that has failed.
func errorResult(err error) json.RawMessage {
	if own, ok := errors.AsType[*agentrt.CallError](err); ok {
		return own.Response
	}
	return toolresult.Error(err.Error())
}

// hide takes out of an outcome what only the call was to see.
func (c *Context) hide(out *outcome) {
	if out.err != nil {
		return
	}
	if err := c.inv.seal(c, &out.actions); err != nil {
		out.response = toolresult.Error(err.Error())
	}
	out.response = c.inv.scrub(out.response)
}

// result runs the tool between its callbacks. It is nil when a long-running
// tool has nothing to say yet.
func (l *llm) result(ctx *Context, tc *tool.Context, t tool.Tool, args json.RawMessage) (json.RawMessage, error) {
	plugins, call := ctx.inv.hooks, &Call{Tool: t, Args: args}
	var value any
	var err error
	for _, cb := range before(plugins.beforeTool, l.cfg.BeforeTool) {
		if value, err = cb(tc, call); err != nil {
			return nil, err
		}
		if value != nil {
			break
		}
	}
	if value == nil {
		value, err = ctx.callTool(tc, t, call.Args)
		if err != nil && tc.Err() == nil {
			value, err = plugins.onToolError(tc, call, err)
		}
		if err != nil {
			return nil, err
		}
		if value == nil && t.Declaration().LongRunning {
			return nil, nil
		}
	}
	result, err := toolresult.Of(value)
	if err != nil {
		return nil, err
	}
	if err := bounded.Fits(tc, int64(len(result))); err != nil { // before it is copied for callbacks
		return nil, fmt.Errorf("%w: ask for less", err)
	}
	for _, cb := range before(plugins.afterTool, l.cfg.AfterTool) {
		if value, err = cb(tc, call, result); err != nil {
			return nil, err
		}
		if value != nil {
			return toolresult.Of(value)
		}
	}
	return result, nil
}
