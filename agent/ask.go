package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// maxModelCalls is the error code of a run that made too many model calls.
const maxModelCalls = "MAX_MODEL_CALLS"

// limits are the codes of the events with which limits end runs. A run that is
// taken over after one ends there as well.
var limits = []string{maxModelCalls, "MAX_RUN_TOKENS", "MAX_DAY_TOKENS", "MAX_RUN_COST", "MAX_DAY_COST"}

func isLimit(code string) bool { return slices.Contains(limits, code) }

// ask makes one model call and emits what comes: pieces, then the whole, which
// it returns.
func (l *llm) ask(ctx *Context, emit Emit) (*event.Event, error) {
	ev, err := ctx.replay(emit)
	for ev != nil && err == nil && isCompaction(ev) {
		ev, err = ctx.replay(emit)
	}
	if ev != nil || err != nil {
		if err == nil && isLimit(ev.ErrorCode) {
			err = &agentrt.Failure{Code: ev.ErrorCode, Message: ev.ErrorMessage}
		}
		return ev, err
	}
	if err := l.compact(ctx, emit); err != nil {
		return nil, err
	}
	if ev, err := l.describe(ctx, emit); ev != nil || err != nil {
		return ev, err
	}
	if f := ctx.spend(); f != nil {
		if err := emit(&event.Event{ErrorCode: f.Code, ErrorMessage: f.Message}); err != nil {
			return nil, err
		}
		return nil, f
	}
	d := &drain{llm: l, ctx: ctx, emit: emit}
	trail := l.trail(ctx)
	req, err := &d.req, l.request(ctx, trail, &d.req)
	if err != nil {
		return nil, err
	}
	if err := l.requests(ctx, req, trail, &d.actions); err != nil {
		return nil, err
	}
	resp, err := l.beforeModel(ctx, req, trail, &d.actions)
	if err != nil {
		return nil, err
	}
	var step *observedStep
	var refused error
	if resp == nil {
		step, d.ctx = l.askStep(ctx, req, trail)
		if resp, refused, err = d.generate(req, step); err != nil {
			step.close("")
			return nil, err
		}
	}
	ev = l.event(ctx, resp, &d.names)
	ev.Actions.Merge(&d.actions)
	if refused != nil && ctx.spoke != nil && !ctx.spoke.Load() {
		step.close("")
		ev.Author, ev.Branch = ctx.agent.name, ctx.branch
		return nil, &refusal{refused, ev}
	}
	err = emit(ev)
	step.close(ev.ID)
	return ev, err
}

// request sets req to the request of the next model call.
func (l *llm) request(ctx *Context, t *trail, req *model.Request) error {
	instruction, err := l.instruct(ctx, t)
	if err != nil {
		return err
	}
	*req = *model.NewRequest(func() []*event.Content {
		contents := l.contents(ctx, t)
		if l.coder != nil {
			contents = l.coder.show(contents, t)
		}
		return contents
	})
	req.Instruction, req.Tools, req.Config, req.Stream = joinInstructions(l.intro, instruction), ctx.box.declarations, l.config, ctx.inv.Stream
	t.note(req, "instruction", ctx.agent)
	t.noteFilled(instruction)
	if l.submits {
		req.Instruction = joinInstructions(req.Instruction, submitGuide)
	}
	req.Instruction = joinInstructions(req.Instruction, l.transfers)
	t.note(req, "transfer note", ctx.agent)
	err = l.plan(ctx, req)
	t.note(req, "planner", ctx.agent)
	if l.finish != nil {
		req.Instruction = joinInstructions(req.Instruction, finishGuide)
		t.note(req, "task note", ctx.agent)
	}
	return err
}

// contents is the conversation as the model gets to see it.
func (l *llm) contents(ctx *Context, t *trail) []*event.Content {
	var short *compacted
	if len(l.cfg.Compactions) > 0 {
		short = latestCompaction(ctx.inv.Log, ctx.agent.name, ctx.branch)
	}
	b := builder{agent: ctx.agent.name, trail: t, thoughts: l.thoughtsFrom(ctx)}
	if n := ctx.node; n != nil {
		b.isolation = n.isolation
		switch {
		case n.input == nil || l.cfg.Task || !n.is(ctx.agent):
		case n.node.History:
			b.turn = &turn{ctx: ctx}
		default:
			return b.readNode(ctx)
		}
	}
	if t == nil && short == nil && l.cfg.IncludeContents != IncludeNone {
		if contents := l.viewed(ctx, &b); contents != nil {
			return contents
		}
	}
	return b.read(ctx.inv.Log, ctx.branch, l.cfg.IncludeContents, short)
}

// viewed is what b reads, from a view; nil if the log keeps none.
func (l *llm) viewed(ctx *Context, b *builder) []*event.Content {
	log := ctx.inv.Log
	key := viewKey{agent: b.agent, branch: ctx.branch, isolation: b.isolation, silent: b.thoughts > 0, part: b.thoughts > 0 || b.turn != nil}
	v := viewOf(log, key)
	if v == nil {
		return nil
	}
	if !key.part {
		contents := v.contents(log, key)
		if l.coder != nil || len(ctx.box.requesters)+len(ctx.inv.hooks.beforeModel)+len(l.cfg.BeforeModel) > 0 {
			contents = slices.Clone(contents) // what is to change requests may do it in place
		}
		return contents
	}
	end := log.Len()
	if key.silent {
		end = min(end, b.thoughts)
	}
	if b.turn != nil {
		end = min(end, ctx.inv.firstOfRuns())
	}
	return v.before(log, key, end, func(rest *builder) {
		rest.thoughts, rest.turn = b.thoughts, b.turn
		rest.readFrom(log, end, ctx.branch, nil)
	})
}

func (l *llm) instruct(ctx *Context, t *trail) (text string, err error) {
	if l.cfg.InstructionFunc == nil {
		var places *[]filled
		if t != nil {
			places = &t.filled
		}
		var known scope
		if n := ctx.ownNode(); n != nil {
			known = scope{n.input, ctx.inv.nodeOutput}
		}
		text, err = l.instruction.fill(ctx.inv.Log, known, func(name string) (string, bool, error) {
			return artifactText(ctx.toolContext(&event.Actions{}), name)
		}, places)
	} else {
		defer agentrt.Recover(&err, "instruction of agent", ctx.agent.name)
		text, err = l.cfg.InstructionFunc(ctx.toolContext(&event.Actions{}))
	}
	if err != nil {
		return "", fmt.Errorf("instruction of agent %s: %w", ctx.agent.name, err)
	}
	return text, nil
}

// refuses reports whether a response says nothing but why there is no answer.
func refuses(resp *model.Response) bool {
	return resp != nil && resp.ErrorCode != "" && resp.Content == nil
}

// drain is one model call. It is a struct rather than the body of a loop because
// a loop over a function costs an allocation for each variable that it changes,
// on every call (BenchmarkRun in package bench).
type drain struct {
	llm  *llm
	ctx  *Context
	emit Emit

	actions event.Actions // of callbacks, which go with the answer
	pieceID string
	names   callNames
	req     model.Request // part of d, which saves an allocation (BenchmarkRun in package bench)
	step    *observedStep
	said    *model.Response // the complete response, before callbacks change it
	used    *event.Usage    // so far, as pieces say
	version string          // of the model, as that piece says
	whole   *model.Response
	failure error // of the model
	err     error // of anything else
}

// generate drains the call. Pieces are emitted as they come and share an event
// id; the complete response is returned. refused says why the model gave no
// answer in it, if it did not.
func (d *drain) generate(req *model.Request, step *observedStep) (whole *model.Response, refused, err error) {
	asked, ctx := d.llm.model, d.ctx
	d.step = step
	defer func() { step.done(err) }()
	defer agentrt.Recover(&err, "model", asked.Name())
	if e := ctx.inv.Edges; e != nil {
		e.Ask(ctx, ctx.place(), asked, req, d.take)
	} else {
		asked.Generate(ctx, req)(d.take)
	}
	if d.said == nil { // the call was stopped, or has failed
		ctx.inv.unseen(d.version, d.used)
	}
	if d.err == nil && d.whole == nil && d.failure == nil {
		d.failure = errors.New("it ended without an answer")
	}
	if e, ok := ctx.inv.Edges.(agentrt.Recalling); ok && step != nil {
		step.Recorded = e.Recalled(d.said)
	}
	step.answered(d.said, d.failure)
	failure := d.failure
	if failure == nil && d.err == nil && refuses(d.said) && refuses(d.whole) { // a callback may, too, and means it
		failure = &model.ResponseError{Code: d.whole.ErrorCode, Message: d.whole.ErrorMessage}
	}
	if failure == nil || d.err != nil {
		return d.whole, nil, d.err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	failure = fmt.Errorf("model %s: %w", asked.Name(), failure)
	switch answer, err := ctx.inv.hooks.onModelError(ctx.toolContext(&d.actions), req, failure); {
	case err != nil:
		return nil, nil, err
	case answer != nil:
		if d.said != nil {
			ctx.inv.unseen(d.said.ModelVersion, d.said.Usage)
		}
		return answer, nil, nil
	case d.failure != nil:
		return nil, nil, failure
	}
	return d.whole, failure, nil
}

// take takes a response.
func (d *drain) take(resp *model.Response, err error) bool {
	if err != nil {
		d.failure = err
		return false
	}
	if resp == nil {
		d.failure = errors.New("it gave nothing for an answer")
		return false
	}
	if resp.Partial {
		d.step.receivedPiece()
		if resp.Usage != nil {
			d.used, d.version = resp.Usage, resp.ModelVersion
		}
	} else {
		d.said = resp
		if d.failure = bounded.CheckCalls(d.ctx, countCalls(resp.Content)); d.failure != nil {
			return false
		}
	}
	if resp, d.err = d.llm.readPlan(d.ctx, resp, &d.actions); d.err != nil {
		return false
	}
	if resp, d.err = d.llm.afterModel(d.ctx, resp, &d.actions); d.err != nil {
		return false
	}
	if !resp.Partial {
		d.whole = resp
		return false
	}
	if d.pieceID == "" {
		d.pieceID = event.NewID()
	}
	piece := d.ctx.fromResponse(resp)
	piece.ID, piece.Usage = d.pieceID, nil // readers add up what events say
	piece.Content = d.names.replace(d.ctx.inv, piece.Content)
	d.err = d.emit(piece)
	return d.err == nil
}

// countCalls is how many calls there are in c, which may be nil.
func countCalls(c *event.Content) (n int) {
	if c == nil {
		return 0
	}
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			n++
		}
	}
	return n
}

func (l *llm) beforeModel(ctx *Context, req *model.Request, t *trail, actions *event.Actions) (resp *model.Response, err error) {
	callbacks := before(ctx.inv.hooks.beforeModel, l.cfg.BeforeModel)
	if len(callbacks) == 0 {
		return nil, nil
	}
	defer agentrt.Recover(&err, "callback before model of agent", ctx.agent.name)
	tc := ctx.toolContext(actions)
	for i, cb := range callbacks {
		if resp, err = cb(tc, req); err != nil {
			return nil, fmt.Errorf("callback before model of agent %s: %w", ctx.agent.name, err)
		}
		if t != nil {
			t.note(req, ctx.inv.hooks.changer(i), nil)
		}
		if resp != nil {
			return resp, nil
		}
	}
	return nil, nil
}

func (l *llm) afterModel(ctx *Context, resp *model.Response, actions *event.Actions) (_ *model.Response, err error) {
	callbacks := before(ctx.inv.hooks.afterModel, l.cfg.AfterModel)
	if len(callbacks) == 0 {
		return resp, nil
	}
	defer agentrt.Recover(&err, "callback after model of agent", ctx.agent.name)
	tc := ctx.toolContext(actions)
	for _, cb := range callbacks {
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

func (c *Context) fromResponse(resp *model.Response) *event.Event {
	ev := &event.Event{
		Content: c.unmasked(resp.Content), Partial: resp.Partial, Interrupted: resp.Interrupted,
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

// unmasked is what a model said with other names for the calls with which only
// the server asks the user, and for those of tools that ask and that the agent
// does not have. Clients know such calls by their names, and would lead the user
// wherever the model wants. Under the other name it is a call like any other: of
// a tool that does not exist, as its answer says.
func (c *Context) unmasked(said *event.Content) *event.Content {
	return changeCalls(said,
		func(call *event.FunctionCall) bool {
			asks := isReserved(call.Name) || call.Name == tool.InputCall || call.Name == tool.ChoiceCall
			return asks && c.box.tools[call.Name] == nil
		},
		func(call *event.FunctionCall) { call.Name = "unknown_" + call.Name })
}

// changeCalls is c with changes to those calls that need them. What a model has
// returned stays as it is.
func changeCalls(c *event.Content, needs func(*event.FunctionCall) bool, change func(*event.FunctionCall)) *event.Content {
	if c == nil || !slices.ContainsFunc(c.Parts, func(p *event.Part) bool { return p.FunctionCall != nil && needs(p.FunctionCall) }) {
		return c
	}
	out := &event.Content{Role: c.Role, Parts: slices.Clone(c.Parts)}
	for i, p := range out.Parts {
		if p.FunctionCall != nil && needs(p.FunctionCall) {
			part, call := *p, *p.FunctionCall
			change(&call)
			part.FunctionCall = &call
			out.Parts[i] = &part
		}
	}
	return out
}

// event is the complete answer as it goes into the log. names are the ids of the
// calls in its pieces.
func (l *llm) event(ctx *Context, resp *model.Response, names *callNames) *event.Event {
	ev := ctx.fromResponse(resp)
	ev.Partial = false
	if answer := submitted(ev.Content); l.submits && answer != nil {
		ev.Content, ev.Actions.SkipSummarization = answer, true
	}
	coded := false
	if l.coder.runs(ctx.executions) && ev.ErrorCode == "" {
		if kept := l.coder.extract(ev.Content); kept != nil {
			ev.Content, coded = kept, true
		}
	}
	ev.Content = names.replace(ctx.inv, ev.Content)
	calls := countCalls(ev.Content)
	if calls > 0 {
		ev.LongRunningToolIDs = ctx.box.longRunning(ev.Content)
	}
	if calls == 0 && ev.ErrorCode == "" && !coded {
		ev.TurnComplete = ctx.last
		if l.cfg.OutputKey != "" && ev.Content != nil && len(ev.Content.Parts) > 0 {
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
