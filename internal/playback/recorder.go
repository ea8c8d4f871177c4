package playback

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// maxRecording is how many bytes of a run are recorded.
const maxRecording = 4 << 20

// recorder notes the calls of one run. It makes them as they would be made without
// it. What the log has of them is not copied: encode refers to it.
type recorder struct {
	app     string
	encoded *encodings
	log     run.Log
	message *event.Event // of the run; nil if it is not the last event

	mu        sync.Mutex
	steps     []step
	bytes     int // of what the steps hold in encoded form
	truncated bool
	done      bool
	parts     []*session.RecordingPart
	shared    int // bytes of parts

	// Most runs call one model at a time (BenchmarkRecord).
	own  asking
	used bool // own is
}

// stepLists has lists of steps that can be used again.
var stepLists = sync.Pool{New: func() any { return new(stepList) }}

// stepList has space for the steps of most runs: a call of a model, one of a tool, and
// the answer.
type stepList [3]step

// step is a call that was answered.
type step struct {
	at    agentrt.Place
	name  string // of the model or the tool
	took  time.Duration
	seen  int          // how many events the log had when the call was made
	event *event.Event // the one with the answer, when the step is encoded

	fixed *fixed           // of the request to a model
	as    int32            // the number of the previous step with the same; 0 for none
	count int32            // of contents
	added []*event.Content // the last of them
	resp  *model.Response  // nil if it is encoded

	call   string
	args   json.RawMessage
	result json.RawMessage // nil if it is encoded

	*encodedAnswer
}

// encodedAnswer is the answer to a call, unless the log has it.
type encodedAnswer struct {
	output    json.RawMessage
	err, code string
	pending   bool
}

// Ask implements agentrt.Edges.
func (r *recorder) Ask(ctx context.Context, at agentrt.Place, m model.Model, req *model.Request, yield func(*model.Response, error) bool) {
	a := r.asking()
	contents := req.Contents()
	s := &a.step
	s.at, s.name, s.seen, s.count = at, m.Name(), r.log.Len(), int32(len(contents))
	s.added = contents[r.before(s, req):]
	a.yield, a.began = yield, time.Now()
	m.Generate(ctx, req)(a.do)
	if a == &r.own {
		r.mu.Lock()
		a.yield, a.step, r.used = nil, step{}, false
		r.mu.Unlock()
	}
}

// asking returns a value for one call of a model.
func (r *recorder) asking() *asking {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &r.own
	if r.used {
		a = &asking{}
	}
	if r.used = true; a.do == nil {
		a.r, a.do = r, a.take
	}
	return a
}

// asking is one call of a model. It is a struct because a loop over a function
// allocates each variable that it changes.
type asking struct {
	r     *recorder
	do    func(*model.Response, error) bool // take
	yield func(*model.Response, error) bool
	began time.Time
	step  step
}

func (a *asking) take(resp *model.Response, err error) bool {
	if err == nil && (resp == nil || resp.Partial) {
		return a.yield(resp, err)
	}
	s := &a.step
	switch {
	case err != nil:
		s.encodedAnswer = failed(err)
	case s.at.Direct:
		s.resp = resp
	default: // callbacks may change it
		s.encodedAnswer = &encodedAnswer{output: encodeResponse(resp)}
	}
	a.r.add(s, a.began)
	return a.yield(resp, err)
}

// before returns the index of the first content of a request that the previous one of
// the agent did not have; for the first request, that of the message. It sets what they
// have in common.
func (r *recorder) before(s *step, req *model.Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.steps) - 1; i >= 0; i-- {
		last := &r.steps[i]
		if last.fixed == nil || last.at.Agent != s.at.Agent || last.at.Branch != s.at.Branch {
			continue
		}
		if last.fixed.is(s.name, req) {
			if s.fixed, s.as = last.fixed, last.as; s.as == 0 {
				s.as = int32(i + 1)
			}
		} else {
			s.fixed = r.encoded.of(r.app, s.at.Agent, s.name, req)
		}
		return added(int(last.count), int(s.count))
	}
	s.fixed = r.encoded.of(r.app, s.at.Agent, s.name, req)
	return added(0, int(s.count))
}

// added returns the index of the first of n contents that a request with last contents
// did not have; for the first request, that of the message.
func added(last, n int) int {
	if last == 0 || last >= n {
		return max(n-1, 0)
	}
	return last
}

// release forgets the steps. r.mu must be held.
func (r *recorder) release() {
	clear(r.steps)
	if len(stepList{}) == cap(r.steps) {
		stepLists.Put((*stepList)(r.steps[:cap(r.steps)]))
	}
	r.steps = nil
}

func failed(err error) *encodedAnswer {
	if coded, ok := errors.AsType[*model.ResponseError](err); ok {
		return &encodedAnswer{err: coded.Message, code: coded.Code}
	}
	return &encodedAnswer{err: err.Error()}
}

// Call implements agentrt.Edges.
func (r *recorder) Call(tc *tool.Context, at agentrt.Place, t tool.Tool, args json.RawMessage) (any, error) {
	d := t.Declaration()
	s := step{at: at, name: d.Name, seen: r.log.Len(), call: tc.FunctionCallID, args: args}
	began := time.Now()
	value, err := t.Call(tc, args)
	if err == nil {
		value, err = s.returned(&d, value, tc.Actions)
	} else {
		s.encodedAnswer = failed(err)
		s.output = outputOf(nil, tc.Actions)
	}
	r.add(&s, began)
	return value, err
}

// Listed implements agentrt.Edges: toolsets are asked.
func (*recorder) Listed(agentrt.Place) ([]tool.Tool, bool) { return nil, false }

// returned notes the result of a tool, and returns it in the encoded form, so that it
// is encoded once.
func (s *step) returned(d *tool.Declaration, value any, actions *event.Actions) (any, error) {
	if value == nil && d.LongRunning {
		s.encodedAnswer = &encodedAnswer{pending: true, output: outputOf(nil, actions)}
		return nil, nil
	}
	result, err := toolresult.Of(value)
	if err != nil {
		s.encodedAnswer = failed(err)
		return nil, err
	}
	if actions.Empty() {
		s.result = result
	} else { // those of several calls are one in the log
		s.encodedAnswer = &encodedAnswer{output: outputOf(&event.FunctionResponse{Name: d.Name, Response: result}, actions)}
	}
	return toolresult.Encoded(result), nil
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

// encodeResponse encodes what a model answered.
func encodeResponse(resp *model.Response) json.RawMessage {
	return encode(&event.Event{
		Content: resp.Content, ErrorCode: resp.ErrorCode, ErrorMessage: resp.ErrorMessage, FinishReason: resp.FinishReason,
		ModelVersion: resp.ModelVersion, Usage: resp.Usage, Interrupted: resp.Interrupted, CustomMetadata: resp.CustomMetadata, Extra: resp.Extra,
	})
}

// add adds a step.
func (r *recorder) add(s *step, began time.Time) {
	s.took = time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return
	}
	if s.encodedAnswer != nil {
		r.bytes += len(s.output)
		r.truncated = r.truncated || r.bytes > maxRecording
	}
	if r.truncated {
		return
	}
	if r.steps == nil {
		r.steps = stepLists.Get().(*stepList)[:0] //nolint:forcetypeassert // it has nothing else
	}
	r.steps = append(r.steps, *s)
}
