package agent

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/code"
)

// LLMConfig describes an agent that is driven by a language model.
type LLMConfig struct {
	Name        string
	Description string // tells other agents what this one is for

	// Model answers. An agent without one uses that of the nearest agent above
	// it.
	Model model.Model
	// Instruction is the system instruction. {key} in it is replaced with the
	// value of that key of the state, which must exist; {key?} may be missing.
	// {artifact.name} is replaced with the text of a file.
	Instruction string
	// InstructionFunc, if set, returns the instruction instead. Keys in it are
	// not replaced.
	InstructionFunc func(ctx *tool.Context) (string, error)
	// Introduce begins the system instruction with the name and the description
	// of the agent, as the Agent Development Kit does. An agent without sub-agents
	// that sets DisallowTransferToParent and DisallowTransferToPeers is not introduced.
	Introduce bool
	// Planner makes the model plan before it acts; see PlanReAct.
	Planner Planner
	// Code has the agent run the code that its model writes; nil means that code
	// is a text like any other.
	Code  *code.Config
	Tools []tool.Tool
	// Toolsets return more tools before every model call.
	Toolsets  []tool.Toolset
	SubAgents []*Agent

	// OutputKey is the key of the state that is set to the answer.
	OutputKey string
	// Config are settings of generation.
	Config *model.Config
	// Compactions limit the length of conversations. Before a request, the
	// first one that is due is applied.
	Compactions []*Compaction
	// IncludeContents says how much of the session the model sees.
	IncludeContents IncludeContents
	// InputSchema describes the arguments of the agent when it is a tool.
	InputSchema json.RawMessage
	// OutputSchema is the JSON Schema of the answer. An agent with one transfers
	// the conversation to its sub-agents only.
	OutputSchema json.RawMessage
	// Task gives the model the tool finish_task, whose arguments match
	// OutputSchema. As a node of a workflow the agent sees the conversation and
	// not the input of the node, and ends with a call of the tool: the arguments
	// are the output. An answer without a call is for the user.
	Task bool

	DisallowTransferToParent bool
	DisallowTransferToPeers  bool

	BeforeAgent []Callback
	AfterAgent  []Callback
	BeforeModel []BeforeModel
	AfterModel  []AfterModel
	BeforeTool  []BeforeTool
	AfterTool   []AfterTool
}

// IncludeContents says how much of the session a model sees.
type IncludeContents string

// What a model sees: the whole conversation, or the current turn only.
const (
	IncludeAll  IncludeContents = ""
	IncludeNone IncludeContents = "none"
)

// BeforeModel may change the request, or return a response in place of the
// model.
type BeforeModel func(ctx *tool.Context, req *model.Request) (*model.Response, error)

// AfterModel may replace a response. It also receives partial responses.
type AfterModel func(ctx *tool.Context, resp *model.Response) (*model.Response, error)

// Call is a tool call, before or after it is made.
type Call struct {
	Tool tool.Tool
	Args json.RawMessage
}

// BeforeTool may change the arguments. A value other than nil is the result in
// place of the tool's.
type BeforeTool func(ctx *tool.Context, call *Call) (any, error)

// AfterTool may replace the result by returning a value other than nil.
type AfterTool func(ctx *tool.Context, call *Call, result json.RawMessage) (any, error)

type llm struct {
	cfg         LLMConfig
	instruction template
	coder       *coder  // nil if the agent does not run code itself
	finish      *finish // nil unless cfg.Task

	// once makes the rest on the first run, when the tree is complete.
	once      sync.Once
	model     model.Model
	own       toolbox // without the tools of toolsets
	intro     string  // instruction about the agent itself
	transfers string  // instruction about other agents
	config    *model.Config
	submits   bool // the model answers with a call of submitTool
	sets      sets
}

// NewLLM returns an agent that is driven by a language model.
func NewLLM(cfg LLMConfig) (*Agent, error) {
	l := &llm{cfg: cfg, instruction: parseTemplate(cfg.Instruction)}
	if cfg.OutputSchema != nil {
		l.cfg.DisallowTransferToParent, l.cfg.DisallowTransferToPeers = true, true
	}
	if cfg.Task {
		l.finish = newFinish(cfg.OutputSchema)
	}
	var err error
	if l.coder, err = newCoder(cfg.Code); err != nil {
		return nil, fmt.Errorf("new agent %s: %w", cfg.Name, err)
	}
	seen := map[string]bool{}
	for _, t := range cfg.Tools {
		if t == nil {
			return nil, fmt.Errorf("new agent %s: a tool is nil", cfg.Name)
		}
		switch name := t.Declaration().Name; {
		case seen[name]:
			return nil, fmt.Errorf("new agent %s: two tools are called %s", cfg.Name, name)
		case name == transferTool || isReserved(name):
			return nil, fmt.Errorf("new agent %s: the tool name %s is taken", cfg.Name, name)
		default:
			seen[name] = true
		}
	}
	a, err := build(Config{
		Name: cfg.Name, Description: cfg.Description, SubAgents: cfg.SubAgents,
		BeforeAgent: cfg.BeforeAgent, AfterAgent: cfg.AfterAgent,
	}, agentrt.KindLLM, l.run)
	if err != nil {
		return nil, err
	}
	a.llm = l
	return a, nil
}

func (engine) Info(one agentrt.Agent) (info agentrt.Info, ok bool) {
	a := one.(*Agent)
	if a.llm == nil {
		return agentrt.Info{}, false
	}
	info.Instruction = a.llm.cfg.Instruction
	for one := a; one != nil; one = one.parent {
		if one.llm != nil && one.llm.cfg.Model != nil {
			info.Model = one.llm.cfg.Model.Name()
			break
		}
	}
	for _, t := range a.llm.cfg.Tools {
		info.Tools = append(info.Tools, t.Declaration())
	}
	return info, true
}

// prepared returns the tools that the agent always has. The first call prepares
// what runs need.
func (l *llm) prepared(a *Agent) *toolbox {
	l.once.Do(func() { l.prepare(a) })
	return &l.own
}

func (l *llm) prepare(a *Agent) {
	for one := a; one != nil && l.model == nil; one = one.parent {
		if one.llm != nil {
			l.model = one.llm.cfg.Model
		}
	}
	tools := l.cfg.Tools
	if transfer, guide := l.transfer(a); transfer != nil {
		tools = append([]tool.Tool{transfer}, tools...)
		l.transfers = guide
	}
	if l.cfg.Introduce && (!l.cfg.DisallowTransferToParent || !l.cfg.DisallowTransferToPeers || len(a.subAgents) > 0) {
		l.intro = `You are an agent. Your internal name is "` + a.name + `".`
		if a.description != "" {
			l.intro += "\n\n" + `The description about you is "` + a.description + `"`
		}
	}
	l.own.tools = make(map[string]tool.Tool, len(tools))
	for _, t := range tools {
		l.own.add(t)
	}
	l.config = l.cfg.Config
	if l.cfg.Code != nil && isBuiltIn(l.cfg.Code.Executor) {
		l.config = withBuiltIn(l.config)
	}
	l.submits = l.cfg.OutputSchema != nil && !l.cfg.Task && len(tools)+len(l.cfg.Toolsets) > 0 && model.SchemaOrTools(l.model)
	switch {
	case l.finish != nil:
		l.own.add(l.finish)
	case l.submits:
		l.own.add(submission(l.cfg.OutputSchema))
	case l.cfg.OutputSchema != nil:
		c := model.Config{}
		if l.config != nil {
			c = *l.config
		}
		c.ResponseSchema, c.ResponseMIMEType = l.cfg.OutputSchema, "application/json"
		l.config = &c
	}
}

// run calls the model, makes the calls that it asks for, and calls it again,
// until it asks for none.
func (l *llm) run(ctx *Context, emit Emit) error {
	l.prepared(ctx.agent)
	if l.model == nil {
		return fmt.Errorf("no model found for agent %s: give it, or an agent above it, a Model", ctx.agent.name)
	}
	waiting := false
	var again *event.Event // calls that waited for the user
	var decided map[string]*tool.Confirmation
	var lifts map[string]*lifted
	if ctx.resume != nil {
		for _, ev := range open(ctx.inv.Log, ctx.resume.InvocationID) {
			waiting = waiting || ctx.mine(ev)
		}
		lifts = ctx.answered()
		again, decided = ctx.again(lifts)
	}
	if l.coder != nil {
		ctx = ctx.with(func(c *Context) { c.executions = &executions{} })
	}
	for !ctx.inv.ended.Load() {
		box, err := l.toolbox(ctx)
		if err != nil {
			return err
		}
		if box != ctx.box {
			ctx = ctx.with(func(c *Context) { c.box = box })
		}
		said := again
		again = nil
		switch {
		case said != nil:
		case !ctx.inv.single:
			said, err = l.ask(ctx, emit)
		case ctx.resume == nil:
			said, err = l.makeCall(ctx, emit)
		case waiting: // for more than the interim answer
			return ErrWaiting
		default: // the answer is the result
			return nil
		}
		if err != nil {
			return err
		}
		if ran, err := l.execute(ctx, said, emit); err != nil {
			return err
		} else if ran {
			continue
		}
		calls := said.FunctionCalls()
		if len(calls) == 0 {
			if waiting {
				return ErrWaiting
			}
			return nil
		}
		here := ctx
		if decided != nil { // which holds for these calls only: ids may come again
			here = ctx.with(func(c *Context) { c.decisions, c.lifts = decided, lifts })
			decided = nil
		}
		next, err := l.act(here, said, calls, emit)
		if err != nil {
			return err
		}
		waiting = waiting || next.waiting
		switch {
		case next.transfer != nil:
			return next.transfer.Run(ctx.with(func(c *Context) { c.resume = nil }), emit)
		case next.stop && waiting, next.unanswered:
			return ErrWaiting
		case next.stop:
			return nil
		}
	}
	return nil
}
