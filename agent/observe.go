package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// observedStep is a step that is reported to the observer of its run.
type observedStep struct {
	agentrt.Step
	inv *invocation
}

// steps holds steps for reuse. There are some in every turn, and an observer
// that only counts them should cost little (BenchmarkRun in package bench).
var steps = sync.Pool{New: func() any { return new(observedStep) }}

func newStep(kind agentrt.StepKind) *observedStep {
	s, _ := steps.Get().(*observedStep) // which close has emptied
	s.Kind = kind
	return s
}

// watches reports whether the observer receives steps of that kind.
func (inv *invocation) watches(kind agentrt.StepKind) bool {
	return inv.Observer != nil && inv.Observer.Wants(kind)
}

// begin passes a step to the observer, which must not be nil, and returns the
// context of the step.
func (c *Context) begin(s *observedStep) *Context {
	inv := c.inv
	s.App, s.Session, s.Invocation, s.Agent, s.inv = inv.App, inv.Session, inv.ID, c.agent, inv
	s.Began = time.Now()
	within := inv.Observer.Begin(c.Context, &s.Step)
	if within == c.Context {
		return c
	}
	sub := *c
	sub.Context = within
	return &sub
}

// done ends the step. It does nothing on nil, which is a step without an
// observer.
func (s *observedStep) done(err error) {
	if s == nil || !s.Ended.IsZero() {
		return
	}
	s.Ended = time.Now()
	if err != nil {
		s.failed(err)
	}
	if s.Error != "" {
		s.Error = agentrt.ScrubText(s.inv.Secrets, s.Error)
	}
	s.inv.Observer.Done(&s.Step)
}

// failed records a failure.
func (s *observedStep) failed(err error) {
	failure, failed := errors.AsType[*agentrt.Failure](err)
	panicked, crashed := errors.AsType[*agentrt.Panic](err)
	switch {
	case errors.Is(err, ErrWaiting):
		s.Waiting = true
	case failed:
		s.ErrorType, s.Error = failure.Code, failure.Message
	case crashed:
		s.ErrorType, s.Error = "panic", panicked.Error()
	case errors.Is(err, context.Canceled):
		s.ErrorType, s.Error = "cancelled", err.Error()
	default:
		s.ErrorType, s.Error = "error", err.Error()
	}
}

// close passes the id of the step's event to the observer, and releases the
// step.
func (s *observedStep) close(eventID string) {
	if s == nil {
		return
	}
	s.done(nil)
	s.Event = eventID
	s.inv.Observer.Close(&s.Step)
	*s = observedStep{}
	steps.Put(s)
}

// askStep is the step in which a model is asked.
func (l *llm) askStep(ctx *Context, req *model.Request, t *trail) (*observedStep, *Context) {
	if !ctx.inv.watches(agentrt.StepModel) {
		return nil, ctx
	}
	s := newStep(agentrt.StepModel)
	s.Model = l.model.Name()
	if t != nil {
		s.Input = ctx.inv.scrub(requestJSON(s.Model, req, t))
		s.Origins = ctx.inv.scrub(t.origins(req))
	}
	return s, ctx.begin(s)
}

// receivedPiece records that a piece of the response was received.
func (s *observedStep) receivedPiece() {
	if s != nil && s.First.IsZero() {
		s.First = time.Now()
	}
}

// answered records the response of a model. failure is why there was none, even
// if a plugin replaced it.
func (s *observedStep) answered(resp *model.Response, failure error) {
	if s == nil {
		return
	}
	if s.Response = resp; resp != nil {
		s.ErrorType, s.Error = resp.ErrorCode, resp.ErrorMessage
		if s.inv.Observer.Detailed() {
			s.Output = s.inv.scrub(responseJSON(resp))
		}
	}
	s.done(failure)
}

// callStep is the step in which a tool is called.
func callStep(ctx *Context, call *event.FunctionCall, t tool.Tool) (*observedStep, *Context) {
	if !ctx.inv.watches(agentrt.StepTool) {
		return nil, ctx
	}
	s := newStep(agentrt.StepTool)
	s.Tool, s.CallID = t, call.ID
	if ctx.inv.Observer.Detailed() {
		s.Input = ctx.inv.scrub(call.Args)
	}
	return s, ctx.begin(s)
}

// returned says what became of a call. Its outcome has no secrets in it any more.
func (s *observedStep) returned(out *outcome, failure error) {
	if s == nil {
		return
	}
	if s.inv.Observer.Detailed() {
		s.Output = out.response
	}
	s.Waiting = out.pending || out.actions.RequestedAuthConfigs != nil || out.actions.RequestedToolConfirmations != nil
	if out.err != nil {
		failure = out.err
	}
	s.done(failure)
}

// requestJSON is a request as it is shown to developers.
func requestJSON(name string, req *model.Request, t *trail) []byte {
	doc := append(wire.Quote([]byte(`{"model":`), name), `,"contents":[`...)
	for i, c := range req.Contents() {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(doc, contentJSON(c)...)
	}
	doc = append(doc, `],"config":{`...)
	member := func(name string, value []byte) {
		if doc[len(doc)-1] != '{' {
			doc = append(doc, ',')
		}
		doc = append(append(wire.Quote(doc, name), ':'), value...)
	}
	if len(t.parts) > 0 {
		texts := make([]string, len(t.parts))
		for i, p := range t.parts {
			texts[i] = p.text
		}
		member("systemInstruction", rawJSON(texts))
	}
	if len(req.Tools) > 0 {
		type function struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters,omitempty"`
		}
		type declared struct {
			Functions []function `json:"functionDeclarations"`
		}
		list := make([]declared, len(req.Tools))
		for i, d := range req.Tools {
			list[i].Functions = []function{{d.Name, d.Description, d.Parameters}}
		}
		member("tools", rawJSON(list))
	}
	for _, s := range agentrt.Settings(req.Config) {
		member(s.Name, rawJSON(s.Value))
	}
	return append(doc, "}}"...)
}

// responseJSON is an answer as it is shown to developers.
func responseJSON(resp *model.Response) []byte {
	var content json.RawMessage
	if resp.Content != nil {
		content = contentJSON(resp.Content)
	}
	return rawJSON(struct {
		Content      json.RawMessage `json:"content,omitempty"`
		FinishReason string          `json:"finishReason,omitempty"`
		ErrorCode    string          `json:"errorCode,omitempty"`
		ErrorMessage string          `json:"errorMessage,omitempty"`
		ModelVersion string          `json:"modelVersion,omitempty"`
		Usage        *event.Usage    `json:"usageMetadata,omitempty"`
		Interrupted  bool            `json:"interrupted,omitempty"`
	}{content, resp.FinishReason, resp.ErrorCode, resp.ErrorMessage, resp.ModelVersion, resp.Usage, resp.Interrupted})
}

// shownFile is how large a file is, in bytes, that is shown to developers in
// contents. Of larger ones they see the type and the size.
const shownFile = 4 << 10

func isLarge(p *event.Part) bool {
	return p != nil && p.InlineData != nil && len(p.InlineData.Data) > shownFile
}

// contentJSON is a content as it is shown to developers.
func contentJSON(c *event.Content) []byte {
	if c == nil || !slices.ContainsFunc(c.Parts, isLarge) {
		return rawJSON(c)
	}
	type file struct {
		MIMEType    string `json:"mimeType"`
		DisplayName string `json:"displayName,omitempty"`
		Omitted     string `json:"omitted"`
	}
	parts := make([]json.RawMessage, len(c.Parts))
	for i, p := range c.Parts {
		if !isLarge(p) {
			parts[i] = rawJSON(p)
			continue
		}
		about := file{p.InlineData.MIMEType, p.InlineData.DisplayName, fmt.Sprintf("%d bytes, which are not shown here", len(p.InlineData.Data))}
		parts[i] = rawJSON(map[string]file{"inlineData": about})
	}
	return rawJSON(struct {
		Role  string            `json:"role,omitempty"`
		Parts []json.RawMessage `json:"parts"`
	}{c.Role, parts})
}

// rawJSON encodes a value. A value that cannot be encoded is null: a trace must
// not make a run fail.
func rawJSON(v any) []byte {
	doc, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return doc
}
