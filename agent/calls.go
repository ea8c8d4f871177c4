package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// CallIDPrefix starts the ids that Parley gives to calls for which the model
// had none.
const CallIDPrefix = model.CallIDPrefix

func newCallID() string { return event.NewCallID(CallIDPrefix) }

// next is how the loop goes on after the calls of one model response.
type next struct {
	transfer   *Agent // to another agent, for good
	stop       bool   // the results are the answer
	unanswered bool   // a call has no result to show to the model
}

// outcome is what became of one call.
type outcome struct {
	response json.RawMessage
	actions  event.Actions
	pending  bool // a long-running tool gave no receipt
	err      error
}

// act makes the calls of one model response at the same time and emits one
// event with their results, in the order of the calls.
func (l *llm) act(ctx *Context, calls []*event.FunctionCall, emit Emit) (next, error) {
	outcomes := make([]outcome, len(calls))
	if len(calls) == 1 {
		outcomes[0] = l.call(ctx, calls[0])
	} else {
		var wg sync.WaitGroup
		for i, call := range calls {
			wg.Go(func() { outcomes[i] = l.call(ctx, call) })
		}
		wg.Wait()
	}
	ev := &event.Event{Content: &event.Content{Role: event.RoleUser}}
	var n next
	for i, out := range outcomes {
		if out.err != nil {
			return next{}, out.err
		}
		ev.Content.Parts = append(ev.Content.Parts, &event.Part{FunctionResponse: &event.FunctionResponse{
			ID: calls[i].ID, Name: calls[i].Name, Response: out.response,
		}})
		ev.Actions.Merge(&out.actions)
		n.unanswered = n.unanswered || out.pending
	}
	if err := emit(ev); err != nil {
		return next{}, err
	}
	n.stop = ev.Actions.SkipSummarization
	if name := ev.Actions.TransferToAgent; name != "" {
		if n.transfer = ctx.agent.root().Find(name); n.transfer == nil {
			return next{}, fmt.Errorf("agent %s wants to hand over to %s, which is not in its tree", ctx.agent.name, name)
		}
	}
	return n, nil
}

// call makes one call. Whatever goes wrong in the tool is a result that the
// model sees, except a panic and the end of the run.
func (l *llm) call(ctx *Context, call *event.FunctionCall) (out outcome) {
	defer Recover(&out.err, "tool", call.Name)
	t := l.tools[call.Name]
	if t == nil {
		names := slices.Sorted(maps.Keys(l.tools))
		out.response = tool.ErrorResult(fmt.Sprintf("There is no tool %s. The tools are: %s.", call.Name, strings.Join(names, ", ")))
		return out
	}
	tc := ctx.toolContext(&out.actions)
	tc.FunctionCallID = call.ID
	result, err := l.result(tc, t, call.Args)
	switch {
	case ctx.Err() != nil:
		out.err = ctx.Err()
	case err != nil:
		out.response = tool.ErrorResult(err.Error())
	case result == nil:
		out.pending = true
		out.response = json.RawMessage(`{"status":"pending"}`)
	default:
		out.response = result
	}
	return out
}

// result runs the tool between its callbacks. It is nil when a long-running
// tool has nothing to say yet.
func (l *llm) result(tc *tool.Context, t tool.Tool, args json.RawMessage) (json.RawMessage, error) {
	call := &Call{Tool: t, Args: args}
	var value any
	var err error
	for _, cb := range l.cfg.BeforeTool {
		if value, err = cb(tc, call); err != nil {
			return nil, err
		}
		if value != nil {
			break
		}
	}
	if value == nil {
		if value, err = t.Call(tc, call.Args); err != nil {
			return nil, err
		}
		if value == nil && t.Declaration().LongRunning {
			return nil, nil
		}
	}
	result, err := tool.Result(value)
	if err != nil {
		return nil, err
	}
	for _, cb := range l.cfg.AfterTool {
		if value, err = cb(tc, call, result); err != nil {
			return nil, err
		}
		if value != nil {
			return tool.Result(value)
		}
	}
	return result, nil
}
