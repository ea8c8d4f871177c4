package adk

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// definition is an agent as js/adk/define.js describes it. Functions are numbers;
// nil means none.
type definition struct {
	Kind          string        `json:"kind"`
	Name          string        `json:"name"`
	Description   string        `json:"description"`
	SubAgents     []*definition `json:"subAgents"`
	BeforeAgent   *int          `json:"beforeAgent"`
	AfterAgent    *int          `json:"afterAgent"`
	Run           *int          `json:"run"`
	MaxIterations int           `json:"maxIterations"`
	Route         *int          `json:"route"`
	// Card is that of a remote agent: an object, or the address or file that it is at.
	Card json.RawMessage `json:"card"`
	graphDefinition

	Model                    *modelDefinition      `json:"model"`
	Introduce                bool                  `json:"introduce"`
	Task                     bool                  `json:"task"`
	Instruction              string                `json:"instruction"`
	InstructionFn            *int                  `json:"instructionFn"`
	Tools                    []toolDefinition      `json:"tools"`
	Toolsets                 []toolsetDefinition   `json:"toolsets"`
	OutputKey                string                `json:"outputKey"`
	IncludeContents          agent.IncludeContents `json:"includeContents"`
	InputSchema              json.RawMessage       `json:"inputSchema"`
	OutputSchema             json.RawMessage       `json:"outputSchema"`
	Config                   json.RawMessage       `json:"config"`
	Compactions              []compaction          `json:"compactions"`
	Planner                  *planner              `json:"planner"`
	Code                     *codeDefinition       `json:"code"`
	DisallowTransferToParent bool                  `json:"disallowTransferToParent"`
	DisallowTransferToPeers  bool                  `json:"disallowTransferToPeers"`
	BeforeModel              *int                  `json:"beforeModel"`
	AfterModel               *int                  `json:"afterModel"`
	BeforeTool               *int                  `json:"beforeTool"`
	AfterTool                *int                  `json:"afterTool"`
	OwnSkills                bool                  `json:"ownSkills"` // it has a SkillToolset

	skills tool.Toolset // of the directory beside the code; nil for none
}

type modelDefinition struct {
	Name    string          `json:"name"`
	Options json.RawMessage `json:"options"`
	Fn      *int            `json:"fn"`
}

type toolDefinition struct {
	Kind              string          `json:"kind"`
	Name              string          `json:"name"`
	Description       string          `json:"description"`
	Parameters        json.RawMessage `json:"parameters"`
	LongRunning       bool            `json:"longRunning"`
	Effect            tool.Effect     `json:"effect"`
	NeedsLogin        bool            `json:"needsLogin"`
	AuthConfig        json.RawMessage `json:"authConfig"`
	Fn                int             `json:"fn"`
	Agent             *definition     `json:"agent"`
	SkipSummarization bool            `json:"skipSummarization"`
	OutputKey         string          `json:"outputKey"`
	WholeArguments    bool            `json:"wholeArguments"` // which the agent gets as JSON
	Set               string          `json:"set"`            // of a tool of a Go toolset
	Tool              string          `json:"tool"`           // its name there
	AsksFirst         bool            `json:"asksFirst"`
	NamesErrors       bool            `json:"namesErrors"`

	shared bool // whether Fn is that of all tools of a set
}

// agent builds the tree that a definition describes.
func (a *App) agent(def *definition) (*agent.Agent, error) {
	cfg := agent.Config{Name: def.Name, Description: def.Description}
	for _, sub := range def.SubAgents {
		one, err := a.agent(sub)
		if err != nil {
			return nil, err
		}
		cfg.SubAgents = append(cfg.SubAgents, one)
	}
	if def.BeforeAgent != nil {
		cfg.BeforeAgent = []agent.Callback{a.agentCallback(*def.BeforeAgent)}
	}
	if def.AfterAgent != nil {
		cfg.AfterAgent = []agent.Callback{a.agentCallback(*def.AfterAgent)}
	}
	switch def.Kind {
	case agentrt.KindLLM:
		return a.llm(def, cfg)
	case agentrt.KindSequential:
		return agent.NewSequential(cfg)
	case agentrt.KindParallel:
		return agent.NewParallel(cfg)
	case agentrt.KindLoop:
		return agent.NewLoop(cfg, def.MaxIterations)
	case agentrt.KindRouted:
		return agent.NewRouted(cfg, made(def.Route, a.route))
	case agentrt.KindCustom:
		if def.Run == nil {
			return nil, fmt.Errorf("the agent %s has nothing to run", def.Name)
		}
		return agent.New(cfg, a.customAgent(*def.Run))
	case agentrt.KindWorkflow:
		return a.workflow(def, cfg)
	case agentrt.KindRemote:
		return a.remote(def, cfg)
	}
	return nil, fmt.Errorf("the agent %s is of an unknown kind", def.Name)
}

func (a *App) llm(def *definition, base agent.Config) (*agent.Agent, error) {
	cfg := agent.LLMConfig{
		Name: base.Name, Description: base.Description, SubAgents: base.SubAgents,
		BeforeAgent: base.BeforeAgent, AfterAgent: base.AfterAgent,
		Introduce: def.Introduce, Instruction: def.Instruction, OutputKey: def.OutputKey, IncludeContents: def.IncludeContents,
		InputSchema: def.InputSchema, OutputSchema: def.OutputSchema, Task: def.Task,
		DisallowTransferToParent: def.DisallowTransferToParent, DisallowTransferToPeers: def.DisallowTransferToPeers,
	}
	var err error
	if cfg.Config, err = parseConfig(def.Config); err != nil {
		return nil, fmt.Errorf("the agent %s: generateContentConfig: %w", def.Name, err)
	}
	if def.Model != nil {
		if cfg.Model, err = a.model(def.Model); err != nil {
			return nil, fmt.Errorf("the agent %s: %w", def.Name, err)
		}
	}
	if def.Planner != nil {
		cfg.Planner = def.Planner.of(a)
	}
	if def.Code != nil {
		if cfg.Code, err = def.Code.config(a); err != nil {
			return nil, fmt.Errorf("the agent %s: codeExecutor: %w", def.Name, err)
		}
	}
	for i := range def.Compactions {
		one, err := a.compaction(&def.Compactions[i])
		if err != nil {
			return nil, fmt.Errorf("the agent %s: contextCompactors: %w", def.Name, err)
		}
		cfg.Compactions = append(cfg.Compactions, one)
	}
	for _, t := range def.Tools {
		one, err := a.tool(t)
		if err != nil {
			return nil, fmt.Errorf("the agent %s: the tool %s: %w", def.Name, t.Name, err)
		}
		cfg.Tools = append(cfg.Tools, one)
	}
	for _, s := range def.Toolsets {
		one, err := a.live(s)
		if err != nil {
			return nil, fmt.Errorf("the agent %s: %w", def.Name, err)
		}
		cfg.Toolsets = append(cfg.Toolsets, one)
	}
	if def.skills != nil {
		cfg.Toolsets = append(cfg.Toolsets, def.skills)
	}
	if def.InstructionFn != nil {
		cfg.InstructionFunc = a.instruction(*def.InstructionFn)
	}
	if def.BeforeModel != nil {
		cfg.BeforeModel = []agent.BeforeModel{a.beforeModel(*def.BeforeModel)}
	}
	if def.AfterModel != nil {
		cfg.AfterModel = []agent.AfterModel{a.afterModel(*def.AfterModel)}
	}
	if def.BeforeTool != nil {
		cfg.BeforeTool = []agent.BeforeTool{a.beforeTool(*def.BeforeTool)}
	}
	if def.AfterTool != nil {
		cfg.AfterTool = []agent.AfterTool{a.afterTool(*def.AfterTool)}
	}
	return agent.NewLLM(cfg)
}

func (a *App) model(def *modelDefinition) (model.Model, error) {
	if def.Fn != nil {
		return &jsModel{app: a, name: def.Name, fn: *def.Fn}, nil
	}
	return a.Models(def.Name, def.Options)
}

func (a *App) tool(def toolDefinition) (tool.Tool, error) {
	switch def.Kind {
	case "hosted":
		t, err := a.hosted(def.Set, def.Tool)
		if err != nil {
			return nil, err
		}
		return &renamed{t, def.Name, def.Description}, nil
	case "agent":
		a, err := a.agent(def.Agent)
		if err != nil {
			return nil, err
		}
		one := tool.Tool(&agentTool{Tool: agent.AsTool(a), toolDefinition: def})
		if def.AsksFirst {
			one = tool.Confirm(one, nil)
		}
		return one, nil
	}
	if def.Kind == "builtin" {
		return builtIn(def.Name)
	}
	if err := def.Effect.Check(); err != nil {
		return nil, err
	}
	return &jsTool{app: a, fn: def.Fn, shared: def.shared, asksFirst: def.AsksFirst, names: def.NamesErrors, decl: tool.Declaration{
		Name: def.Name, Description: def.Description, Parameters: def.Parameters, LongRunning: def.LongRunning, Effect: def.Effect,
		NeedsLogin: def.needsLogin(),
	}}, nil
}

// needsLogin reports whether calls ask users to log in. An authConfig that cannot
// be read is an error of the call.
func (def *toolDefinition) needsLogin() bool {
	if isNull(def.AuthConfig) {
		return def.NeedsLogin
	}
	cfg, err := credential.DecodeConfig(def.AuthConfig)
	return err == nil && cfg.NeedsUser()
}

// agentTool is an agent as a tool, as its author declared it.
type agentTool struct {
	tool.Tool
	toolDefinition
}

func (t *agentTool) Declaration() tool.Declaration {
	d := t.Tool.Declaration()
	d.Name, d.Description = t.Name, t.Description
	if !isNull(t.Parameters) {
		d.Parameters = t.Parameters
	}
	return d
}

func (t *agentTool) Call(ctx *tool.Context, args json.RawMessage) (any, error) {
	if t.SkipSummarization {
		ctx.Actions.SkipSummarization = true
	}
	// Under a declaration of the author's own, the request may have any name.
	var only map[string]string
	if t.WholeArguments {
		args = append(wire.Quote([]byte(`{"request":`), string(args)), '}')
	} else if !isNull(t.Parameters) && json.Unmarshal(args, &only) == nil && len(only) == 1 {
		for _, request := range only {
			args = append(wire.Quote([]byte(`{"request":`), request), '}')
		}
	}
	result, err := t.Tool.Call(ctx, args)
	if err != nil {
		return nil, toolError(err, err.Error())
	}
	if t.OutputKey != "" && agentrt.SuspendedIn(ctx.Actions) == nil {
		err = ctx.State.Set(t.OutputKey, result)
	}
	return result, err
}

// jsTool is a tool whose function is JavaScript.
type jsTool struct {
	app    *App
	fn     int
	shared bool // fn is that of several tools, and gets the name of the tool
	decl   tool.Declaration
	names  bool // whether the text of an error names the tool
	// asksFirst means that no call does anything before the user has approved it.
	asksFirst bool
}

// AsksFirst is for tool.AsksFirst.
func (t *jsTool) AsksFirst() bool { return t.asksFirst }

func (t *jsTool) Declaration() tool.Declaration { return t.decl }

func (t *jsTool) Call(ctx *tool.Context, args json.RawMessage) (any, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if t.shared {
		named := wire.Quote([]byte(`{"tool":`), t.decl.Name)
		args = append(append(append(named, `,"args":`...), args...), '}')
	}
	sc := toolScope(ctx)
	sc.result = true
	out, err := t.app.callAs(ctx, sc, t.fn, string(args))
	if err != nil {
		return nil, t.failed(err)
	}
	if t.decl.LongRunning && isNull(out.Value) {
		return nil, nil
	}
	if out.Value[0] == '[' { // results are objects
		return json.RawMessage(`{"results":` + string(out.Value) + `}`), nil
	}
	return out.Value, nil
}

// failed is the error of a call as the packages have it.
func (t *jsTool) failed(err error) error {
	text := err.Error()
	if thrown, ok := errors.AsType[*engine.Error](err); ok {
		text = thrown.Message
	}
	if t.names {
		text = fmt.Sprintf("Error in tool '%s': %s", t.decl.Name, text)
	}
	return toolError(err, text)
}

// toolError is an error of a tool with the result that the packages make of it.
func toolError(err error, text string) error {
	return &agentrt.CallError{Err: err, Message: text, Response: append(wire.Quote([]byte(`{"error":`), text), '}')}
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// contentOf reads a content that JavaScript has returned; nil if it has returned none.
func contentOf(v json.RawMessage) (*event.Content, error) {
	if isNull(v) {
		return nil, nil
	}
	c := &event.Content{}
	if err := c.UnmarshalJSON(v); err != nil {
		return nil, fmt.Errorf("the callback returned something that is not a content: %w", err)
	}
	return c, nil
}
