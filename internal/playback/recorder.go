package playback

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/tool"
)

// maxRecording is how many bytes of a run are recorded.
const maxRecording = 4 << 20

// recorder records the calls of one run. It makes them as they would be made
// without it.
type recorder struct {
	encoded *encodings

	mu        sync.Mutex
	steps     []byte // in JSON, with commas in between
	truncated bool
	sent      sent
}

// Ask implements agentrt.Edges.
func (r *recorder) Ask(ctx context.Context, at agentrt.Place, m model.Model, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		s := &replay.Step{Kind: replay.ModelCall, Agent: at.Agent, Branch: at.Branch, Name: m.Name(), Request: r.request(at, req)}
		began := time.Now()
		for resp, err := range m.Generate(ctx, req) {
			if err != nil || resp != nil && !resp.Partial {
				answered(s, resp, err)
				r.add(ctx, s, began)
			}
			if !yield(resp, err) {
				return
			}
		}
	}
}

// answered sets the response of a model.
func answered(s *replay.Step, resp *model.Response, err error) {
	if err != nil {
		failed(s, err)
		return
	}
	s.Output = encode(&event.Event{
		Content: resp.Content, ErrorCode: resp.ErrorCode, ErrorMessage: resp.ErrorMessage, FinishReason: resp.FinishReason,
		ModelVersion: resp.ModelVersion, Usage: resp.Usage, Interrupted: resp.Interrupted, CustomMetadata: resp.CustomMetadata, Extra: resp.Extra,
	})
}

func failed(s *replay.Step, err error) {
	s.Error = err.Error()
	if coded, ok := errors.AsType[*model.ResponseError](err); ok {
		s.Error, s.ErrorCode = coded.Message, coded.Code
	}
}

// request returns what is recorded of a request.
func (r *recorder) request(at agentrt.Place, req *model.Request) *replay.Request {
	return newRequest(r.encoded, req, r.sent.before(at, len(req.Contents())))
}

// sent is how many contents the last request of each agent had.
type sent struct {
	mu sync.Mutex
	by map[agentrt.Place]int
}

// before returns the index of the first of n contents that the previous request of the
// agent did not have; for the first request, that of the message.
func (s *sent) before(at agentrt.Place, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, again := s.by[at]
	if s.by == nil {
		s.by = map[agentrt.Place]int{}
	}
	s.by[at] = n
	if !again || last >= n {
		return n - 1
	}
	return last
}

// newRequest returns a request with the contents from an index on.
func newRequest(known *encodings, req *model.Request, from int) *replay.Request {
	contents := req.Contents()
	doc := &replay.Request{Instruction: req.Instruction, Tools: known.tools(req.Tools), Config: known.config(req.Config), Contents: len(contents)}
	for _, c := range contents[max(from, 0):] {
		if raw, err := c.MarshalJSON(); err == nil {
			doc.Added = append(doc.Added, raw)
		}
	}
	return doc
}

// Call implements agentrt.Edges.
func (r *recorder) Call(tc *tool.Context, at agentrt.Place, t tool.Tool, args json.RawMessage) (any, error) {
	d := t.Declaration()
	s := &replay.Step{Kind: replay.ToolCall, Agent: at.Agent, Branch: at.Branch, Name: d.Name, Call: tc.FunctionCallID, Args: args}
	began := time.Now()
	value, err := t.Call(tc, args)
	if err == nil {
		value, err = returned(s, d, value, tc.Actions)
	} else {
		failed(s, err)
		s.Output = outputOf(nil, tc.Actions)
	}
	r.add(tc, s, began)
	return value, err
}

// returned sets the result of a tool, and returns it in the encoded form, so that it
// is encoded once.
func returned(s *replay.Step, d tool.Declaration, value any, actions *event.Actions) (any, error) {
	if value == nil && d.LongRunning {
		s.Pending, s.Output = true, outputOf(nil, actions)
		return nil, nil
	}
	result, err := toolresult.Of(value)
	if err != nil {
		failed(s, err)
		return nil, err
	}
	s.Output = outputOf(&event.FunctionResponse{Name: d.Name, Response: result}, actions)
	return result, nil
}

// outputOf returns the event with the result of a tool, which may be nil, and with
// its actions.
func outputOf(result *event.FunctionResponse, actions *event.Actions) json.RawMessage {
	ev := &event.Event{}
	if result != nil {
		ev.Content = &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: result}}}
	}
	if actions.Empty() {
		return encode(ev)
	}
	ev.Actions = *actions
	ev.Actions.StateDelta = maps.Clone(actions.StateDelta)
	maps.DeleteFunc(ev.Actions.StateDelta, func(name string, value json.RawMessage) bool {
		return strings.HasPrefix(name, "secret:") || redact.HoldsCredential(value)
	})
	doc := encode(ev)
	var secrets redact.Set
	for _, asked := range actions.RequestedAuthConfigs {
		secrets.Add(redact.SecretsIn(asked)...)
	}
	return secrets.JSON(doc)
}

func encode(ev *event.Event) json.RawMessage {
	doc, err := ev.MarshalJSON()
	if err != nil {
		return nil
	}
	return doc
}

// add adds a step. Secrets of the run are removed from it.
func (r *recorder) add(ctx context.Context, s *replay.Step, began time.Time) {
	s.Milliseconds = float64(time.Since(began).Microseconds()) / 1000
	doc := encodeStep(nil, s)
	if inv := agentrt.From(ctx); inv != nil && inv.Secrets != nil {
		doc = inv.Secrets.Scrub(doc)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.truncated || len(r.steps)+len(doc) > maxRecording {
		r.truncated = true
		return
	}
	if len(r.steps) > 0 {
		r.steps = append(r.steps, ',')
	}
	r.steps = append(r.steps, doc...)
}

// encodings keeps the encoded forms of tools and settings of agents, which are the
// same in most requests.
type encodings struct {
	mu      sync.Mutex
	byTools map[*model.Declaration]encodedTools
	configs map[*model.Config]json.RawMessage
}

type encodedTools struct {
	of  []model.Declaration
	doc json.RawMessage
}

// maxEncodings is how many forms are kept. Agents have few; toolsets and callbacks may
// make new ones for each request.
const maxEncodings = 1000

func (e *encodings) tools(list []model.Declaration) json.RawMessage {
	if len(list) == 0 {
		return nil
	}
	e.mu.Lock()
	known, ok := e.byTools[&list[0]]
	e.mu.Unlock()
	if ok && len(known.of) == len(list) {
		return known.doc
	}
	docs := make([]replay.Declaration, len(list))
	for i, d := range list {
		docs[i] = replay.Declaration(d)
	}
	doc, err := json.Marshal(docs)
	if err != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byTools == nil || len(e.byTools) >= maxEncodings {
		e.byTools = map[*model.Declaration]encodedTools{}
	}
	e.byTools[&list[0]] = encodedTools{list, doc}
	return doc
}

func (e *encodings) config(c *model.Config) json.RawMessage {
	if c == nil {
		return nil
	}
	e.mu.Lock()
	known, ok := e.configs[c]
	e.mu.Unlock()
	if ok {
		return known
	}
	set := map[string]any{}
	for _, s := range agentrt.Settings(c) {
		set[s.Name] = s.Value
	}
	doc, err := json.Marshal(set)
	if err != nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.configs == nil || len(e.configs) >= maxEncodings {
		e.configs = map[*model.Config]json.RawMessage{}
	}
	e.configs[c] = doc
	return doc
}
