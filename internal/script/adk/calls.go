package adk

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// scope is the information about a call of JavaScript that the code can get.
type scope struct {
	about     string         // a contextInfo, as JSON
	message   *event.Content // that started the run
	agent     *agent.Context
	artifacts tool.Artifacts
	memory    tool.Memory
	tool      *tool.Context // nil if there is none
	node      *workflow.Context
	logins    *logins // nil if there are none
	result    bool    // the function is that of a tool

	mu   sync.Mutex
	over bool // the function has returned
}

// contextInfo describes the run; js/adk/context.js makes its context of it.
type contextInfo struct {
	App, User, Session, InvocationID, Agent string
	Branch, FunctionCallID                  string // empty for none
	Confirmation                            *tool.Confirmation
}

// json is written by hand because every call has one (BenchmarkTurn in package script).
func (i contextInfo) json() string {
	out := wire.Quote(append(make([]byte, 0, 256), `{"app":`...), i.App)
	for _, m := range [...]struct {
		name, value string
		always      bool
	}{
		{`,"user":`, i.User, true},
		{`,"session":`, i.Session, true},
		{`,"invocationId":`, i.InvocationID, true},
		{`,"agent":`, i.Agent, true},
		{`,"branch":`, i.Branch, false},
		{`,"functionCallId":`, i.FunctionCallID, false},
	} {
		if m.always || m.value != "" {
			out = wire.Quote(append(out, m.name...), m.value)
		}
	}
	if c := i.Confirmation; c != nil {
		out = wire.Quote(append(out, `,"toolConfirmation":{"hint":`...), c.Hint)
		out = strconv.AppendBool(append(out, `,"confirmed":`...), c.Confirmed)
		if len(c.Payload) > 0 {
			out = append(append(out, `,"payload":`...), c.Payload...)
		}
		out = append(out, '}')
	}
	return string(append(out, '}'))
}

// outcome is the result of a function with a context: the value that it returned,
// and what it has changed.
type outcome struct {
	Value   json.RawMessage `json:"-"`
	Actions json.RawMessage `json:"actions"`
	Args    json.RawMessage `json:"args"`
	Request json.RawMessage `json:"request"`
}

// call calls a function of the author with a context, and applies its actions.
// params is JSON, empty for none.
func (a *App) call(tc *tool.Context, fn int, params string) (outcome, error) {
	return a.callAs(tc, toolScope(tc), fn, params)
}

func (a *App) callAs(tc *tool.Context, sc *scope, fn int, params string) (outcome, error) {
	if tc.Credentials != nil {
		sc.logins = &logins{tc: tc, recent: &a.recent, fn: fn}
		sc.logins.prepare()
	}
	r, err := a.run(tc, fn, params, sc)
	if sc.logins != nil {
		if ended := sc.logins.finish(); err == nil {
			err = ended
		}
	}
	out := outcome{Value: r.Value}
	if err != nil || r.Rest == "" {
		return out, err
	}
	if err := json.Unmarshal([]byte(r.Rest), &out); err != nil {
		return out, fmt.Errorf("read the result: %w", err)
	}
	if !isNull(out.Actions) {
		var did event.Event // which has the same member "actions", and skips the rest
		if err := did.UnmarshalJSON([]byte(r.Rest)); err != nil {
			return out, fmt.Errorf("read what the function did: %w", err)
		}
		if err := apply(tc, &did.Actions); err != nil {
			return out, err
		}
	}
	return out, nil
}

// callWith is call with parameters that have to be written as JSON first.
func (a *App) callWith(tc *tool.Context, fn int, params map[string]any) (outcome, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return outcome{}, fmt.Errorf("encode a call: %w", err)
	}
	return a.call(tc, fn, string(text))
}

// toolScope is the scope of a tool or a callback.
func toolScope(tc *tool.Context) *scope {
	info := contextInfo{
		App: tc.App, User: tc.User, Session: tc.Session, InvocationID: tc.InvocationID, Agent: tc.Agent,
		FunctionCallID: tc.FunctionCallID, Confirmation: tc.Confirmation,
	}
	sc := &scope{message: tc.UserContent, agent: agent.FromTool(tc), tool: tc, artifacts: tc.Artifacts, memory: tc.Memory}
	if sc.agent != nil {
		info.Branch = sc.agent.Branch()
	}
	sc.about = info.json()
	return sc
}

func (a *App) agentCallback(fn int) agent.Callback {
	return func(tc *tool.Context) (*event.Content, error) {
		out, err := a.call(tc, fn, "")
		if err != nil {
			return nil, err
		}
		return contentOf(out.Value)
	}
}

func (a *App) instruction(fn int) func(*tool.Context) (string, error) {
	return func(tc *tool.Context) (string, error) {
		r, err := a.run(tc, fn, "", toolScope(tc))
		if err != nil {
			return "", err
		}
		var text string
		return text, json.Unmarshal(r.Value, &text)
	}
}

func (a *App) beforeModel(fn int) agent.BeforeModel {
	return func(tc *tool.Context, req *model.Request) (*model.Response, error) {
		out, err := a.callWith(tc, fn, map[string]any{"request": requestOf(req)})
		if err != nil {
			return nil, err
		}
		if err := changeRequest(req, out.Request); err != nil {
			return nil, err
		}
		return responseOf(out.Value)
	}
}

func (a *App) afterModel(fn int) agent.AfterModel {
	return func(tc *tool.Context, resp *model.Response) (*model.Response, error) {
		out, err := a.callWith(tc, fn, map[string]any{"response": wireResponse(resp)})
		if err != nil {
			return nil, err
		}
		return responseOf(out.Value)
	}
}

func (a *App) beforeTool(fn int) agent.BeforeTool {
	return func(tc *tool.Context, call *agent.Call) (any, error) {
		args := call.Args
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		out, err := a.callWith(tc, fn, map[string]any{"tool": call.Tool.Declaration().Name, "args": args})
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

func (a *App) afterTool(fn int) agent.AfterTool {
	return func(tc *tool.Context, call *agent.Call, result json.RawMessage) (any, error) {
		out, err := a.callWith(tc, fn, map[string]any{"tool": call.Tool.Declaration().Name, "args": call.Args, "response": result})
		if err != nil || isNull(out.Value) {
			return nil, err
		}
		return out.Value, nil
	}
}

func (a *App) route(fn int) agent.Route {
	return func(tc *tool.Context, failed *agent.RouteFailure) (string, error) {
		params := ""
		if failed != nil {
			text, err := json.Marshal(map[string]any{"names": failed.Names, "error": failed.Err.Error()})
			if err != nil {
				return "", fmt.Errorf("encode a failure: %w", err)
			}
			params = string(text)
		}
		r, err := a.run(tc, fn, params, toolScope(tc))
		if err != nil {
			return "", err
		}
		var name string
		return name, json.Unmarshal(r.Value, &name)
	}
}

// endInvocation is the last item of a custom agent that ends the run.
const endInvocation = `{"endInvocation":true}`

// customAgent is an agent that is an async generator. Its items are emitted, and it
// continues when they are stored.
func (a *App) customAgent(fn int) func(*agent.Context, agent.Emit) error {
	return func(ctx *agent.Context, emit agent.Emit) error {
		info := contextInfo{
			App: ctx.App(), User: ctx.User(), Session: ctx.Session(), InvocationID: ctx.InvocationID(),
			Agent: ctx.Agent().Name(), Branch: ctx.Branch(),
		}
		sc := &scope{
			about: info.json(), message: ctx.UserContent(), agent: ctx,
			artifacts: ctx.Artifacts(), memory: ctx.Memory(),
		}
		return a.stream(ctx, fn, "", sc, func(item json.RawMessage) error {
			if string(item) == endInvocation {
				ctx.EndInvocation()
				return nil
			}
			ev := &event.Event{}
			if err := ev.UnmarshalJSON(item); err != nil {
				return fmt.Errorf("the agent %s yielded something that is not an event: %w", ctx.Agent().Name(), err)
			}
			return emit(ev)
		})
	}
}
