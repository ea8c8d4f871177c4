package playback

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// maxRecording is how many bytes of a run are recorded.
const maxRecording = 4 << 20

// recorded are the edges of a recorded run. They make the calls as they would be made
// without them. Agents may keep them longer than the run, so what they note is in a
// recorder, which is used again.
type recorded struct {
	log run.Log
	mu  sync.Mutex
	of  *recorder // nil if the run has ended
	own asking    // most runs call one model at a time (BenchmarkRecord)
}

// recorder has the noted calls of one run. What the log has of them is not copied: encode
// refers to it.
type recorder struct {
	to      *Recorder
	key     session.Key
	run     string
	attempt int
	tools   []tool.Declaration
	state   []byte // in JSON
	secrets agentrt.Secrets
	log     run.Log
	message *event.Event   // of the run; nil if it is not the last event
	first   int            // the index of the first of events
	events  []*event.Event // of the run, when it is encoded

	steps     []step
	bytes     int // of what the steps hold in encoded form
	truncated bool
	parts     []*session.RecordingPart
	shared    int // bytes of parts

	own        step            // of recorded.own, if that is used
	buffer     []byte          // to encode in
	someSteps  [3]step         // for steps: most runs have a call of a model, one of a tool, and the answer
	someEvents [6]*event.Event // for events
}

// recorders has those that can be used again (BenchmarkRecord in package bench).
var recorders = sync.Pool{New: func() any { return new(recorder) }}

// release makes a recorder usable for another run.
func (r *recorder) release() {
	*r = recorder{buffer: r.buffer}
	recorders.Put(r)
}

// step is a call that was answered.
type step struct {
	at    agentrt.Place
	name  string // of the model or the tool
	took  time.Duration
	first time.Duration // until a piece of the answer; 0 if there was none
	again int32         // how often the call of a model was repeated
	seen  int           // how many events the log had when the call was made
	event *event.Event  // the one with the answer, when the step is encoded

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
	cancelled bool
	pending   bool
}

// Ask implements agentrt.Edges.
func (e *recorded) Ask(ctx context.Context, at agentrt.Place, m model.Model, req *model.Request, yield func(*model.Response, error) bool) {
	contents, name := req.Contents(), m.Name()
	a := e.ask(at, name, req, contents)
	if a == nil {
		m.Generate(ctx, req)(yield)
		return
	}
	ctx, a.again = retry.Counting(ctx)
	a.yield, a.ctx, a.began = yield, ctx, uptime()
	m.Generate(ctx, req)(a.do)
	e.mu.Lock()
	a.yield, a.ctx, a.step, a.again = nil, nil, nil, nil
	e.mu.Unlock()
}

// ask returns a value for one call of a model; nil if the run has ended.
func (e *recorded) ask(at agentrt.Place, name string, req *model.Request, contents []*event.Content) *asking {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.of
	if r == nil {
		return nil
	}
	a, s := &e.own, &r.own
	if a.step != nil {
		a, s = &asking{}, &step{}
	}
	if a.do == nil {
		a.e, a.do = e, a.take
	}
	*s = step{at: at, name: name, seen: r.log.Len(), count: int32(len(contents))}
	s.added = contents[r.before(s, req):]
	a.step = s
	return a
}

// asking is one call of a model. It is a struct because a loop over a function
// allocates each variable that it changes (BenchmarkRecord in package bench).
type asking struct {
	e     *recorded
	do    func(*model.Response, error) bool // take
	yield func(*model.Response, error) bool
	ctx   context.Context //nolint:containedctx // of the call
	began time.Duration
	again *atomic.Int64
	step  *step // nil if there is no call
}

func (a *asking) take(resp *model.Response, err error) bool {
	if a.yield == nil {
		return false // the call has ended
	}
	s := a.step
	if err == nil && (resp == nil || resp.Partial) {
		if resp != nil && s.first == 0 {
			s.first = max(uptime()-a.began, time.Microsecond)
		}
		return a.yield(resp, err)
	}
	s.again = int32(a.again.Load())
	switch {
	case err != nil:
		s.encodedAnswer = failed(err)
		s.cancelled = a.ctx.Err() != nil
	case s.at.Direct:
		s.resp = resp
	default: // callbacks may change it
		s.encodedAnswer = &encodedAnswer{output: encodeResponse(resp)}
	}
	a.e.add(s, a.began)
	return a.yield(resp, err)
}

// began is when the process began, approximately.
var began = time.Now()

// uptime is a time to compare with others. It costs less than time.Now, which also reads
// the clock of the wall (run_recorded of make bench).
func uptime() time.Duration { return time.Since(began) }

// before returns the index of the first content of a request that the previous one of
// the agent did not have; for the first request, that of the message. It sets what they
// have in common.
func (r *recorder) before(s *step, req *model.Request) int {
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
			s.fixed = r.to.encoded.of(r.key.App, s.at.Agent, s.name, req)
		}
		return added(int(last.count), int(s.count))
	}
	s.fixed = r.to.encoded.of(r.key.App, s.at.Agent, s.name, req)
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

func failed(err error) *encodedAnswer {
	if coded, ok := errors.AsType[*model.ResponseError](err); ok {
		return &encodedAnswer{err: coded.Message, code: coded.Code}
	}
	return &encodedAnswer{err: err.Error()}
}

// Call implements agentrt.Edges.
func (e *recorded) Call(tc *tool.Context, at agentrt.Place, t tool.Tool, args json.RawMessage) (any, error) {
	d := t.Declaration()
	s := step{at: at, name: d.Name, seen: e.log.Len(), call: tc.FunctionCallID, args: args}
	began := uptime()
	value, err := t.Call(tc, args)
	if err == nil {
		value, err = s.returned(&d, value, tc.Actions)
	} else {
		s.encodedAnswer = failed(err)
		s.output, s.cancelled = outputOf(nil, tc.Actions), tc.Err() != nil
	}
	e.add(&s, began)
	return value, err
}

// Listed implements agentrt.Edges: toolsets are asked.
func (*recorded) Listed(agentrt.Place) ([]tool.Tool, bool) { return nil, false }

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
	ev.Actions.StateDelta = maps.Clone(redact.State(actions.StateDelta))
	maps.DeleteFunc(ev.Actions.StateDelta, func(_ string, value json.RawMessage) bool { return redact.HoldsCredential(value) })
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

// add adds a step, unless the run has ended.
func (e *recorded) add(s *step, began time.Duration) {
	s.took = uptime() - began
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.of
	if r == nil {
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
		r.steps = r.someSteps[:0]
	}
	r.steps = append(r.steps, *s)
}
