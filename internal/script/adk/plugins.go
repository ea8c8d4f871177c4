package adk

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// application is what js/adk/define.js makes of a module.
type application struct {
	Root    *definition        `json:"root"`
	Plugins []pluginDefinition `json:"plugins"`
	// CredentialCall is the name of the call that asks for a login, if the
	// application chooses one.
	CredentialCall string `json:"credentialCall"`
}

// pluginDefinition is a plugin as js/adk/define-plugins.js describes it: the
// numbers of the hooks that it has.
type pluginDefinition struct {
	Name          string `json:"name"`
	OnUserMessage *int   `json:"onUserMessage"`
	BeforeRun     *int   `json:"beforeRun"`
	AfterRun      *int   `json:"afterRun"`
	OnEvent       *int   `json:"onEvent"`
	BeforeAgent   *int   `json:"beforeAgent"`
	AfterAgent    *int   `json:"afterAgent"`
	BeforeModel   *int   `json:"beforeModel"`
	AfterModel    *int   `json:"afterModel"`
	OnModelError  *int   `json:"onModelError"`
	BeforeTool    *int   `json:"beforeTool"`
	AfterTool     *int   `json:"afterTool"`
	OnToolError   *int   `json:"onToolError"`

	BeforeNode *int `json:"beforeNode"`
	AfterNode  *int `json:"afterNode"`

	BeforeCompaction *int `json:"beforeCompaction"`
	AfterCompaction  *int `json:"afterCompaction"`
}

// application builds the tree of an application, with its plugins.
func (a *App) application(app application) (*agent.Agent, error) {
	root, err := a.agent(app.Root)
	if err == nil && app.CredentialCall != "" {
		root, err = agent.WithCredentialCall(root, app.CredentialCall)
	}
	if err != nil || len(app.Plugins) == 0 {
		return root, err
	}
	plugins := make([]*agent.Plugin, len(app.Plugins))
	for i := range app.Plugins {
		plugins[i] = a.plugin(&app.Plugins[i])
	}
	return agent.WithPlugins(root, plugins...)
}

func (a *App) plugin(def *pluginDefinition) *agent.Plugin {
	return &agent.Plugin{
		Name:          def.Name,
		OnUserMessage: made(def.OnUserMessage, a.onUserMessage),
		BeforeRun:     made(def.BeforeRun, a.agentCallback),
		AfterRun:      made(def.AfterRun, a.afterRun),
		OnEvent:       made(def.OnEvent, a.onEvent),
		BeforeAgent:   made(def.BeforeAgent, a.agentCallback),
		AfterAgent:    made(def.AfterAgent, a.agentCallback),
		BeforeModel:   made(def.BeforeModel, a.beforeModel),
		AfterModel:    made(def.AfterModel, a.afterModel),
		OnModelError:  made(def.OnModelError, a.onModelError),
		BeforeTool:    made(def.BeforeTool, a.beforeTool),
		AfterTool:     made(def.AfterTool, a.afterTool),
		OnToolError:   made(def.OnToolError, a.onToolError),

		BeforeNode: made(def.BeforeNode, a.nodeHook),
		AfterNode:  made(def.AfterNode, a.nodeHook),

		BeforeCompaction: made(def.BeforeCompaction, a.compacts),
		AfterCompaction:  made(def.AfterCompaction, a.compacts),
	}
}

// made returns the hook that maker makes of a function; the zero value if there is
// no function.
func made[F any](fn *int, maker func(int) F) (hook F) {
	if fn == nil {
		return hook
	}
	return maker(*fn)
}

func (a *App) onUserMessage(fn int) func(*tool.Context, *event.Content) (*event.Content, error) {
	return func(tc *tool.Context, message *event.Content) (*event.Content, error) {
		out, err := a.callWith(tc, fn, map[string]any{"message": message})
		if err != nil {
			return nil, err
		}
		return contentOf(out.Value)
	}
}

// afterRun is a hook without a result.
func (a *App) afterRun(fn int) func(*tool.Context) error {
	return func(tc *tool.Context) error {
		_, err := a.call(tc, fn, "")
		return err
	}
}

// nodeHook is called with the input or the output of a node.
func (a *App) nodeHook(fn int) func(*tool.Context, json.RawMessage) (any, error) {
	return func(tc *tool.Context, value json.RawMessage) (any, error) {
		node := workflow.FromHook(tc)
		params, err := json.Marshal(map[string]any{"value": value, "path": node.Path(), "runId": node.RunID()})
		if err != nil {
			return nil, fmt.Errorf("encode a call: %w", err)
		}
		sc := toolScope(tc)
		sc.node = node
		out, err := a.callAs(tc, sc, fn, string(params))
		if err != nil || isNull(out.Value) {
			return nil, err
		}
		return out.Value, nil
	}
}

func (a *App) compacts(fn int) func(*tool.Context, *agent.Compaction) error {
	return func(tc *tool.Context, c *agent.Compaction) error {
		_, err := a.callWith(tc, fn, map[string]any{"onRequest": c.OnRequest})
		return err
	}
}

func (a *App) onEvent(fn int) func(*tool.Context, *event.Event) (*event.Event, error) {
	return func(tc *tool.Context, ev *event.Event) (*event.Event, error) {
		out, err := a.callWith(tc, fn, map[string]any{"event": ev})
		if err != nil || isNull(out.Value) {
			return nil, err
		}
		other := &event.Event{}
		if err := other.UnmarshalJSON(out.Value); err != nil {
			return nil, fmt.Errorf("it returned something that is not an event: %w", err)
		}
		return other, nil
	}
}

func (a *App) onModelError(fn int) func(*tool.Context, *model.Request, error) (*model.Response, error) {
	return func(tc *tool.Context, req *model.Request, failure error) (*model.Response, error) {
		out, err := a.callWith(tc, fn, map[string]any{"request": requestOf(req), "error": failure.Error()})
		if err != nil {
			return nil, err
		}
		return responseOf(out.Value)
	}
}

func (a *App) onToolError(fn int) func(*tool.Context, *agent.Call, error) (any, error) {
	return func(tc *tool.Context, call *agent.Call, failure error) (any, error) {
		args := call.Args
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		out, err := a.callWith(tc, fn, map[string]any{"tool": call.Tool.Declaration().Name, "args": args, "error": failure.Error()})
		if err != nil || isNull(out.Value) {
			return nil, err
		}
		return out.Value, nil
	}
}
