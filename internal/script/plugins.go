package script

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/agent"
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

	BeforeCompaction *int `json:"beforeCompaction"`
	AfterCompaction  *int `json:"afterCompaction"`
}

// application builds the tree of an application, with its plugins.
func (in *instance) application(app application) (*agent.Agent, error) {
	root, err := in.agent(app.Root)
	if err == nil && app.CredentialCall != "" {
		root, err = agent.WithCredentialCall(root, app.CredentialCall)
	}
	if err != nil || len(app.Plugins) == 0 {
		return root, err
	}
	plugins := make([]*agent.Plugin, len(app.Plugins))
	for i := range app.Plugins {
		plugins[i] = in.plugin(&app.Plugins[i])
	}
	return agent.WithPlugins(root, plugins...)
}

func (in *instance) plugin(def *pluginDefinition) *agent.Plugin {
	return &agent.Plugin{
		Name:          def.Name,
		OnUserMessage: made(def.OnUserMessage, in.onUserMessage),
		BeforeRun:     made(def.BeforeRun, in.agentCallback),
		AfterRun:      made(def.AfterRun, in.told),
		OnEvent:       made(def.OnEvent, in.onEvent),
		BeforeAgent:   made(def.BeforeAgent, in.agentCallback),
		AfterAgent:    made(def.AfterAgent, in.agentCallback),
		BeforeModel:   made(def.BeforeModel, in.beforeModel),
		AfterModel:    made(def.AfterModel, in.afterModel),
		OnModelError:  made(def.OnModelError, in.onModelError),
		BeforeTool:    made(def.BeforeTool, in.beforeTool),
		AfterTool:     made(def.AfterTool, in.afterTool),
		OnToolError:   made(def.OnToolError, in.onToolError),

		BeforeCompaction: made(def.BeforeCompaction, in.compacts),
		AfterCompaction:  made(def.AfterCompaction, in.compacts),
	}
}

// made is what maker makes of a function of the guest's, and nothing of none.
func made[F any](fn *int, maker func(int) F) (hook F) {
	if fn == nil {
		return hook
	}
	return maker(*fn)
}

func (in *instance) onUserMessage(fn int) func(*tool.Context, *event.Content) (*event.Content, error) {
	return func(tc *tool.Context, message *event.Content) (*event.Content, error) {
		out, err := in.callWith(tc, fn, map[string]any{"message": message})
		if err != nil {
			return nil, err
		}
		return contentOf(out.Value)
	}
}

// told is a hook that has nothing to say.
func (in *instance) told(fn int) func(*tool.Context) error {
	return func(tc *tool.Context) error {
		_, err := in.call(tc, fn, "")
		return err
	}
}

func (in *instance) compacts(fn int) func(*tool.Context, *agent.Compaction) error {
	return func(tc *tool.Context, c *agent.Compaction) error {
		_, err := in.callWith(tc, fn, map[string]any{"onRequest": c.OnRequest})
		return err
	}
}

func (in *instance) onEvent(fn int) func(*tool.Context, *event.Event) (*event.Event, error) {
	return func(tc *tool.Context, ev *event.Event) (*event.Event, error) {
		out, err := in.callWith(tc, fn, map[string]any{"event": ev})
		if err != nil || isNull(out.Value) {
			return nil, err
		}
		other := &event.Event{}
		if err := other.UnmarshalJSON(out.Value); err != nil {
			return nil, fmt.Errorf("it returned something that is no event: %w", err)
		}
		return other, nil
	}
}

func (in *instance) onModelError(fn int) func(*tool.Context, *model.Request, error) (*model.Response, error) {
	return func(tc *tool.Context, req *model.Request, failure error) (*model.Response, error) {
		out, err := in.callWith(tc, fn, map[string]any{"request": requestOf(req), "error": failure.Error()})
		if err != nil {
			return nil, err
		}
		return responseOf(out.Value)
	}
}

func (in *instance) onToolError(fn int) func(*tool.Context, *agent.Call, error) (any, error) {
	return func(tc *tool.Context, call *agent.Call, failure error) (any, error) {
		args := call.Args
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		out, err := in.callWith(tc, fn, map[string]any{"tool": call.Tool.Declaration().Name, "args": args, "error": failure.Error()})
		if err != nil || isNull(out.Value) {
			return nil, err
		}
		return out.Value, nil
	}
}
