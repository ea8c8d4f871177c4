package script

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// scope is what JavaScript can ask about the call that it works on.
type scope struct {
	state   func() map[string]json.RawMessage
	message *event.Content // that started the run
	agent   *agent.Context
}

// contextInfo is what JavaScript is told about the run; js/adk/context.js makes
// its context of it.
type contextInfo struct {
	App            string `json:"app"`
	User           string `json:"user"`
	Session        string `json:"session"`
	InvocationID   string `json:"invocationId"`
	Agent          string `json:"agent"`
	Branch         string `json:"branch,omitempty"`
	FunctionCallID string `json:"functionCallId,omitempty"`
}

// outcome is what a function with a context returns.
type outcome struct {
	Value   json.RawMessage `json:"value"`
	Actions json.RawMessage `json:"actions"`
	Args    json.RawMessage `json:"args"`
	Request json.RawMessage `json:"request"`
}

// call calls a function of the author's with a context, and carries out what it
// did there.
func (in *instance) call(tc *tool.Context, fn int, params map[string]any) (*outcome, error) {
	info, sc := aboutTool(tc)
	params["ctx"] = info
	raw, err := in.run(tc, fn, params, sc)
	if err != nil {
		return nil, err
	}
	out := &outcome{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	if !isNull(out.Actions) {
		var did event.Event // which has the same member "actions", and skips the rest
		if err := did.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("read what the function did: %w", err)
		}
		tc.Actions.Merge(&did.Actions)
	}
	return out, nil
}

// aboutTool is what the code of a tool or a callback is told and may ask.
func aboutTool(tc *tool.Context) (contextInfo, *scope) {
	info := contextInfo{
		App: tc.App, User: tc.User, Session: tc.Session, InvocationID: tc.InvocationID, Agent: tc.Agent,
		FunctionCallID: tc.FunctionCallID,
	}
	sc := &scope{state: tc.State.All, message: tc.UserContent, agent: agent.FromTool(tc)}
	if sc.agent != nil {
		info.Branch = sc.agent.Branch()
	}
	return info, sc
}

func (in *instance) agentCallback(fn int) agent.Callback {
	return func(tc *tool.Context) (*event.Content, error) {
		out, err := in.call(tc, fn, map[string]any{})
		if err != nil {
			return nil, err
		}
		return contentOf(out.Value)
	}
}

func (in *instance) instruction(fn int) func(*tool.Context) (string, error) {
	return func(tc *tool.Context) (string, error) {
		info, sc := aboutTool(tc)
		raw, err := in.run(tc, fn, map[string]any{"ctx": info}, sc)
		if err != nil {
			return "", err
		}
		var text string
		return text, json.Unmarshal(raw, &text)
	}
}

func (in *instance) beforeModel(fn int) agent.BeforeModel {
	return func(tc *tool.Context, req *model.Request) (*model.Response, error) {
		out, err := in.call(tc, fn, map[string]any{"request": requestOf(req)})
		if err != nil {
			return nil, err
		}
		if err := changeRequest(req, out.Request); err != nil {
			return nil, err
		}
		return responseOf(out.Value)
	}
}

func (in *instance) afterModel(fn int) agent.AfterModel {
	return func(tc *tool.Context, resp *model.Response) (*model.Response, error) {
		out, err := in.call(tc, fn, map[string]any{"response": wireResponse(resp)})
		if err != nil {
			return nil, err
		}
		return responseOf(out.Value)
	}
}

func (in *instance) beforeTool(fn int) agent.BeforeTool {
	return func(tc *tool.Context, call *agent.Call) (any, error) {
		args := call.Args
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		out, err := in.call(tc, fn, map[string]any{"tool": call.Tool.Declaration().Name, "args": args})
		if err != nil {
			return nil, err
		}
		call.Args = out.Args
		if isNull(out.Value) {
			return nil, nil
		}
		return out.Value, nil
	}
}

func (in *instance) afterTool(fn int) agent.AfterTool {
	return func(tc *tool.Context, call *agent.Call, result json.RawMessage) (any, error) {
		out, err := in.call(tc, fn, map[string]any{"tool": call.Tool.Declaration().Name, "args": call.Args, "response": result})
		if err != nil || isNull(out.Value) {
			return nil, err
		}
		return out.Value, nil
	}
}

// customAgent is an agent whose work is an async generator. What it yields is
// emitted, and it goes on when that is stored.
func (in *instance) customAgent(fn int) func(*agent.Context, agent.Emit) error {
	return func(ctx *agent.Context, emit agent.Emit) error {
		info := contextInfo{
			App: ctx.App(), User: ctx.User(), Session: ctx.Session(), InvocationID: ctx.InvocationID(),
			Agent: ctx.Agent().Name(), Branch: ctx.Branch(),
		}
		return in.stream(ctx, fn, map[string]any{"ctx": info}, &scope{state: ctx.Log().All, message: ctx.UserContent(), agent: ctx}, func(item json.RawMessage) error {
			ev := &event.Event{}
			if err := ev.UnmarshalJSON(item); err != nil {
				return fmt.Errorf("the agent %s yielded something that is no event: %w", ctx.Agent().Name(), err)
			}
			return emit(ev)
		})
	}
}

// jsModel is a model that is written in JavaScript.
type jsModel struct {
	in   *instance
	name string
	fn   int
}

func (m *jsModel) Name() string { return m.name }

func (m *jsModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		stopped := false
		err := m.in.stream(ctx, m.fn, map[string]any{"request": requestOf(req), "stream": req.Stream}, nil, func(item json.RawMessage) error {
			resp, err := responseOf(item)
			if err != nil {
				return err
			}
			if resp == nil {
				return nil
			}
			if !yield(resp, nil) {
				stopped = true
				return errStopped
			}
			return nil
		})
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}
