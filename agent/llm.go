package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// LLMConfig makes an agent that is driven by a language model.
type LLMConfig struct {
	Name        string
	Description string // tells other agents what this one is for

	// Model answers; without one, the nearest agent above that has one lends
	// it.
	Model model.Model
	// Instruction is told to the model. {key} in it stands for a value of the
	// session's state and must be there; {key?} may be missing.
	Instruction string
	// InstructionFunc, if set, makes the instruction instead. What it returns
	// is used as it is.
	InstructionFunc func(ctx *tool.Context) (string, error)
	Tools           []tool.Tool
	SubAgents       []*Agent

	// OutputKey is the key of the state under which the answer is kept.
	OutputKey string
	// Config are settings of generation.
	Config *model.Config
	// IncludeContents says how much of the session the model sees.
	IncludeContents IncludeContents
	// InputSchema describes the arguments of the agent when it is a tool.
	InputSchema json.RawMessage
	// OutputSchema is the JSON Schema that the answer must follow. An agent
	// with one does not hand the conversation over.
	OutputSchema json.RawMessage

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

// BeforeModel may change the request, or answer in the model's place.
type BeforeModel func(ctx *tool.Context, req *model.Request) (*model.Response, error)

// AfterModel may replace a response. It sees the pieces of a stream, too.
type AfterModel func(ctx *tool.Context, resp *model.Response) (*model.Response, error)

// Call is a tool call that is about to be made, or was.
type Call struct {
	Tool tool.Tool
	Args json.RawMessage
}

// BeforeTool may change the arguments, or give the result in the tool's place
// by returning something other than nil.
type BeforeTool func(ctx *tool.Context, call *Call) (any, error)

// AfterTool may replace the result by returning something other than nil.
type AfterTool func(ctx *tool.Context, call *Call, result json.RawMessage) (any, error)

type llm struct {
	cfg         LLMConfig
	instruction template

	// once makes the rest on the first run, when the tree is complete.
	once         sync.Once
	model        model.Model
	tools        map[string]tool.Tool
	declarations []model.Declaration
	transfers    string // what the model is told about other agents
	config       *model.Config
}

// NewLLM makes an agent that is driven by a language model.
func NewLLM(cfg LLMConfig) (*Agent, error) {
	l := &llm{cfg: cfg, instruction: parseTemplate(cfg.Instruction)}
	if cfg.OutputSchema != nil {
		l.cfg.DisallowTransferToParent, l.cfg.DisallowTransferToPeers = true, true
	}
	seen := map[string]bool{}
	for _, t := range cfg.Tools {
		if t == nil {
			return nil, fmt.Errorf("new agent %s: a tool is nil", cfg.Name)
		}
		switch name := t.Declaration().Name; {
		case seen[name]:
			return nil, fmt.Errorf("new agent %s: two tools are called %s", cfg.Name, name)
		case name == transferTool:
			return nil, fmt.Errorf("new agent %s: the tool name %s is taken", cfg.Name, name)
		default:
			seen[name] = true
		}
	}
	a, err := build(Config{
		Name: cfg.Name, Description: cfg.Description, SubAgents: cfg.SubAgents,
		BeforeAgent: cfg.BeforeAgent, AfterAgent: cfg.AfterAgent,
	}, KindLLM, l.run)
	if err != nil {
		return nil, err
	}
	a.llm = l
	return a, nil
}

// Info is what can be told about an agent that is driven by a model.
type Info struct {
	Model       string
	Instruction string
	Tools       []tool.Declaration
}

// Info describes the agent; ok is false when no model drives it.
func (a *Agent) Info() (info Info, ok bool) {
	if a.llm == nil {
		return Info{}, false
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

func (l *llm) prepare(a *Agent) {
	for one := a; one != nil && l.model == nil; one = one.parent {
		if one.llm != nil {
			l.model = one.llm.cfg.Model
		}
	}
	tools := l.cfg.Tools
	if transfer, guide := l.transfer(a); transfer != nil {
		tools = append(slices.Clip(tools), transfer)
		l.transfers = guide
	}
	l.tools = make(map[string]tool.Tool, len(tools))
	for _, t := range tools {
		d := t.Declaration()
		l.tools[d.Name] = t
		l.declarations = append(l.declarations, model.Declaration{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
	}
	l.config = l.cfg.Config
	if l.cfg.OutputSchema != nil {
		c := model.Config{}
		if l.config != nil {
			c = *l.config
		}
		c.ResponseSchema, c.ResponseMIMEType = l.cfg.OutputSchema, "application/json"
		l.config = &c
	}
}

// run is the loop: ask the model, make the calls that it wants, and ask again,
// until it has nothing more to call.
func (l *llm) run(ctx *Context, emit Emit) error {
	l.once.Do(func() { l.prepare(ctx.agent) })
	if l.model == nil {
		return fmt.Errorf("no model found for agent %s: give it, or an agent above it, a Model", ctx.agent.name)
	}
	waiting := false
	if ctx.resume != nil {
		for _, author := range open(ctx.inv.Log, ctx.resume.InvocationID) {
			waiting = waiting || author == ctx.agent.name
		}
	}
	for {
		said, err := l.ask(ctx, emit)
		if err != nil {
			return err
		}
		calls := said.FunctionCalls()
		if len(calls) == 0 {
			if waiting {
				return ErrWaiting
			}
			return nil
		}
		waiting = waiting || len(said.LongRunningToolIDs) > 0
		next, err := l.act(ctx, calls, emit)
		if err != nil {
			return err
		}
		switch {
		case next.transfer != nil:
			return next.transfer.Run(ctx.with(func(c *Context) { c.resume = nil }), emit)
		case next.stop && waiting, next.unanswered:
			return ErrWaiting
		case next.stop:
			return nil
		}
	}
}

// ask makes one model call and emits what comes: pieces, then the whole, which
// it returns.
func (l *llm) ask(ctx *Context, emit Emit) (*event.Event, error) {
	if !ctx.spend() {
		f := &Failure{Code: "MAX_MODEL_CALLS", Message: fmt.Sprintf("The run was ended because it made %d model calls without coming to an end.", ctx.inv.MaxModelCalls)}
		if err := emit(&event.Event{ErrorCode: f.Code, ErrorMessage: f.Message}); err != nil {
			return nil, err
		}
		return nil, f
	}
	var actions event.Actions
	req, err := l.request(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := l.beforeModel(ctx, req, &actions)
	if err != nil {
		return nil, err
	}
	if resp == nil {
		if resp, err = l.generate(ctx, req, &actions, emit); err != nil {
			return nil, err
		}
	} else if resp, err = l.afterModel(ctx, resp, &actions); err != nil {
		return nil, err
	}
	ev := l.event(ctx, resp)
	ev.Actions.Merge(&actions)
	return ev, emit(ev)
}

func (l *llm) request(ctx *Context) (*model.Request, error) {
	instruction, err := l.instruct(ctx)
	if err != nil {
		return nil, err
	}
	if l.transfers != "" {
		if instruction != "" {
			instruction += "\n\n"
		}
		instruction += l.transfers
	}
	req := model.NewRequest(func() []*event.Content {
		return contents(ctx.inv.Log, ctx.agent.name, ctx.branch, l.cfg.IncludeContents)
	})
	req.Instruction, req.Tools, req.Config, req.Stream = instruction, l.declarations, l.config, ctx.inv.Stream
	return req, nil
}

func (l *llm) instruct(ctx *Context) (text string, err error) {
	if l.cfg.InstructionFunc == nil {
		text, err = l.instruction.render(ctx.inv.Log)
	} else {
		defer Recover(&err, "instruction of agent", ctx.agent.name)
		text, err = l.cfg.InstructionFunc(ctx.toolContext(&event.Actions{}))
	}
	if err != nil {
		return "", fmt.Errorf("instruction of agent %s: %w", ctx.agent.name, err)
	}
	return text, nil
}

// generate drains one model call. Pieces are emitted as they come and share an
// event id; the complete response is returned.
func (l *llm) generate(ctx *Context, req *model.Request, actions *event.Actions, emit Emit) (whole *model.Response, err error) {
	defer Recover(&err, "model", l.model.Name())
	d := drain{llm: l, ctx: ctx, actions: actions, emit: emit}
	l.model.Generate(ctx.Context, req)(d.take)
	if d.err == nil && d.whole == nil {
		if d.err = ctx.Err(); d.err == nil {
			d.err = fmt.Errorf("model %s: it ended without an answer", l.model.Name())
		}
	}
	return d.whole, d.err
}

// drain takes the responses of one model call. It is a struct rather than the
// body of a loop because a loop over a function costs an allocation for each
// variable that it changes, on every call.
type drain struct {
	llm     *llm
	ctx     *Context
	actions *event.Actions
	emit    Emit

	pieceID string
	whole   *model.Response
	err     error
}

func (d *drain) take(resp *model.Response, err error) bool {
	if err != nil {
		if d.err = d.ctx.Err(); d.err == nil {
			d.err = fmt.Errorf("model %s: %w", d.llm.model.Name(), err)
		}
		return false
	}
	if resp, d.err = d.llm.afterModel(d.ctx, resp, d.actions); d.err != nil {
		return false
	}
	if !resp.Partial {
		d.whole = resp
		return false
	}
	if d.pieceID == "" {
		d.pieceID = event.NewID()
	}
	piece := fromResponse(resp)
	piece.ID = d.pieceID
	d.err = d.emit(piece)
	return d.err == nil
}

func (l *llm) beforeModel(ctx *Context, req *model.Request, actions *event.Actions) (resp *model.Response, err error) {
	if len(l.cfg.BeforeModel) == 0 {
		return nil, nil
	}
	defer Recover(&err, "callback before model of agent", ctx.agent.name)
	tc := ctx.toolContext(actions)
	for _, cb := range l.cfg.BeforeModel {
		if resp, err = cb(tc, req); err != nil {
			return nil, fmt.Errorf("callback before model of agent %s: %w", ctx.agent.name, err)
		}
		if resp != nil {
			return resp, nil
		}
	}
	return nil, nil
}

func (l *llm) afterModel(ctx *Context, resp *model.Response, actions *event.Actions) (_ *model.Response, err error) {
	if resp == nil {
		return nil, errors.New("a nil response")
	}
	if len(l.cfg.AfterModel) == 0 {
		return resp, nil
	}
	defer Recover(&err, "callback after model of agent", ctx.agent.name)
	tc := ctx.toolContext(actions)
	for _, cb := range l.cfg.AfterModel {
		other, err := cb(tc, resp)
		if err != nil {
			return nil, fmt.Errorf("callback after model of agent %s: %w", ctx.agent.name, err)
		}
		if other != nil {
			replaced := *other
			replaced.Partial = resp.Partial
			return &replaced, nil
		}
	}
	return resp, nil
}

func fromResponse(resp *model.Response) *event.Event {
	ev := &event.Event{
		Content: resp.Content, Partial: resp.Partial, Interrupted: resp.Interrupted,
		ErrorCode: resp.ErrorCode, ErrorMessage: resp.ErrorMessage,
		FinishReason: resp.FinishReason, ModelVersion: resp.ModelVersion,
		Usage: resp.Usage, CustomMetadata: resp.CustomMetadata, Extra: resp.Extra,
	}
	if ev.Content != nil && ev.Content.Role == "" {
		// The response belongs to the model, which may use it again.
		ev.Content = &event.Content{Role: event.RoleModel, Parts: ev.Content.Parts}
	}
	return ev
}

// withCallIDs is c with an id for every call.
func withCallIDs(c *event.Content) *event.Content {
	if c == nil || !slices.ContainsFunc(c.Parts, func(p *event.Part) bool { return p.FunctionCall != nil && p.FunctionCall.ID == "" }) {
		return c
	}
	out := &event.Content{Role: c.Role, Parts: slices.Clone(c.Parts)}
	for i, p := range out.Parts {
		if p.FunctionCall != nil && p.FunctionCall.ID == "" {
			part, call := *p, *p.FunctionCall
			call.ID = newCallID()
			part.FunctionCall = &call
			out.Parts[i] = &part
		}
	}
	return out
}

// event is the complete answer as it goes into the log.
func (l *llm) event(ctx *Context, resp *model.Response) *event.Event {
	ev := fromResponse(resp)
	ev.Partial = false
	ev.Content = withCallIDs(ev.Content)
	calls := ev.FunctionCalls()
	for _, call := range calls {
		if t := l.tools[call.Name]; t != nil && t.Declaration().LongRunning {
			ev.LongRunningToolIDs = append(ev.LongRunningToolIDs, call.ID)
		}
	}
	if len(calls) == 0 && ev.ErrorCode == "" {
		ev.TurnComplete = ctx.last
		if l.cfg.OutputKey != "" {
			ev.Actions.StateDelta = map[string]json.RawMessage{l.cfg.OutputKey: l.output(ev.Content.Text())}
		}
	}
	return ev
}

// output is the answer as it is kept in the state: JSON when the agent has a
// schema and the model kept to it, else the text.
func (l *llm) output(text string) json.RawMessage {
	if l.cfg.OutputSchema != nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return wire.Quote(nil, text)
}
