package playback

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// maxSearch is how many events are searched for the one with an answer or a content.
// Most are the first. What is not found is encoded.
const maxSearch = 64

// encode appends the beginning of the recording to doc. Answers and contents that an
// event of the log has are the id of the event: a log only grows, and is deleted
// together with its recordings. See stored for the format.
func (r *recorder) encode(doc []byte) []byte {
	r.first, r.events = r.log.Own(r.someEvents[:0])
	doc = append(doc, `{"steps":[`...)
	for i := range r.steps {
		end := len(doc)
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = r.encodeStep(doc, &r.steps[i])
		if len(doc)+r.shared > maxRecording {
			doc, r.truncated = doc[:end], true
			break
		}
	}
	return append(doc, ']')
}

func (r *recorder) encodeStep(doc []byte, s *step) []byte {
	doc = appendMilliseconds(append(doc, `{"ms":`...), s.took)
	doc = member(doc, "branch", s.at.Branch)
	if s.first > 0 {
		doc = appendMilliseconds(append(doc, `,"firstMs":`...), s.first)
	}
	if s.again > 0 {
		doc = strconv.AppendInt(append(doc, `,"retries":`...), int64(s.again), 10)
	}
	if s.fixed != nil {
		doc = r.encodeRequest(doc, s)
	} else {
		doc = r.encodeCall(doc, s)
	}
	switch {
	case s.resp != nil:
		if s.event = r.find(s, isAnswer); s.event == nil {
			s.encodedAnswer = &encodedAnswer{output: encodeResponse(s.resp)}
		}
	case s.result != nil:
		if s.event = r.find(s, hasResult); s.event == nil {
			s.encodedAnswer = &encodedAnswer{output: outputOf(&event.FunctionResponse{Name: s.name, Response: s.result}, &event.Actions{})}
		}
	}
	if s.event != nil {
		doc = wire.Quote(append(doc, `,"event":`...), s.event.ID)
	}
	if a := s.encodedAnswer; a != nil {
		if len(a.output) > 0 {
			doc = append(append(doc, `,"output":`...), a.output...)
		}
		doc = member(doc, "error", a.err)
		doc = member(doc, "errorCode", a.code)
		if a.cancelled {
			doc = append(doc, `,"cancelled":true`...)
		}
		if a.pending {
			doc = append(doc, `,"pending":true`...)
		}
	}
	return append(doc, '}')
}

// encodeCall appends which tool was called: the number of the step whose answer has the
// call, and the number of the call there, or the call itself.
func (r *recorder) encodeCall(doc []byte, s *step) []byte {
	if from, n, args := r.asked(s); from > 0 {
		doc = strconv.AppendInt(append(doc, `,"from":[`...), int64(from), 10)
		doc = append(strconv.AppendInt(append(doc, ','), int64(n), 10), ']')
		if sameBytes(args, s.args) {
			return doc
		}
	} else {
		doc = member(doc, "agent", s.at.Agent)
		doc = wire.Quote(append(doc, `,"name":`...), s.name)
		doc = member(doc, "call", s.call)
	}
	if len(s.args) > 0 {
		doc = append(append(doc, `,"args":`...), s.args...)
	}
	return doc
}

// asked returns the number of the step in whose answer the agent was asked to call a tool,
// the number of the call there, and its arguments; 0 if there is none.
func (r *recorder) asked(s *step) (from, n int, args json.RawMessage) {
	if s.call == "" || len(s.args) == 0 {
		return 0, 0, nil
	}
	for i := len(r.steps) - 1; i >= max(len(r.steps)-maxSearch, 0); i-- {
		by := &r.steps[i]
		if by.fixed == nil || by.at.Agent != s.at.Agent || by.event == nil || by.event.Content == nil {
			continue
		}
		n := 0
		for _, p := range by.event.Content.Parts {
			if p.FunctionCall == nil {
				continue
			}
			if n++; p.FunctionCall.ID == s.call && p.FunctionCall.Name == s.name {
				return i + 1, n, p.FunctionCall.Args
			}
		}
	}
	return 0, 0, nil
}

func (r *recorder) encodeRequest(doc []byte, s *step) []byte {
	if s.as == 0 {
		doc = append(doc, s.fixed.step...)
	}
	doc = strconv.AppendInt(append(doc, `,"request":{"contents":`...), int64(s.count), 10)
	if s.as > 0 {
		doc = strconv.AppendInt(append(doc, `,"as":`...), int64(s.as), 10)
	} else {
		doc = r.encodeParts(append(doc, s.fixed.doc...), s.fixed.parts)
	}
	if len(s.added) == 0 {
		return append(doc, '}')
	}
	doc = append(doc, `,"added":[`...)
	from := max(s.seen-len(s.added), 0)
	for i, c := range s.added {
		if i > 0 {
			doc = append(doc, ',')
		}
		at := min(from+i, s.seen-1)
		if ev := r.holder(at, s.seen, c); ev != nil {
			doc = r.reference(doc, ev)
			continue
		}
		raw, err := c.MarshalJSON()
		if err != nil {
			raw = []byte("null")
		}
		doc = append(doc, raw...)
	}
	return append(doc, "]}"...)
}

// encodeParts appends the numbers of parts.
func (r *recorder) encodeParts(doc []byte, parts []*session.RecordingPart) []byte {
	if len(parts) == 0 {
		return doc
	}
	if len(r.parts) == 0 { // the usual case
		r.parts = slices.Clip(parts)
		for _, p := range parts {
			r.shared += len(p.JSON)
		}
	}
	doc = append(doc, `,"parts":`...)
	for i, p := range parts {
		mark := byte(',')
		if i == 0 {
			mark = '['
		}
		doc = strconv.AppendInt(append(doc, mark), int64(r.part(p)), 10)
	}
	return append(doc, ']')
}

// part returns the number of a part.
func (r *recorder) part(p *session.RecordingPart) int {
	n := slices.Index(r.parts, p)
	if n < 0 {
		n = len(r.parts)
		r.parts = append(r.parts, p)
		r.shared += len(p.JSON)
	}
	return n + 1
}

// holder returns the event before end that has a content, which is probably the one
// at that place; nil if there is none.
func (r *recorder) holder(at, end int, c *event.Content) *event.Event {
	if at < 0 {
		return nil
	}
	if ev := r.at(at); ev.ID != "" && sameContent(c, ev.Content) {
		return ev
	}
	for i := end - 1; i >= max(end-maxSearch, 0); i-- {
		if ev := r.at(i); ev.ID != "" && sameContent(c, ev.Content) {
			return ev
		}
	}
	return nil
}

// at returns an event of the log, an empty one if it was removed. Most are of the run.
func (r *recorder) at(i int) *event.Event {
	switch i -= r.first; {
	case i < 0:
		return r.log.At(i + r.first)
	case i < len(r.events):
		return r.events[i]
	}
	return &event.Event{}
}

// find returns the first event after a call that is the one with its answer; nil if
// there is none.
func (r *recorder) find(s *step, is func(*step, *event.Event) bool) *event.Event {
	for i, end := s.seen, min(r.first+len(r.events), s.seen+maxSearch); i < end; i++ {
		if ev := r.at(i); ev.ID != "" && is(s, ev) {
			return ev
		}
	}
	return nil
}

// isAnswer reports whether an event says all that a model has answered.
func isAnswer(s *step, ev *event.Event) bool {
	resp := s.resp
	return ev.Author == s.at.Agent && ev.Branch == s.at.Branch && ev.Usage == resp.Usage &&
		ev.ErrorCode == resp.ErrorCode && ev.ErrorMessage == resp.ErrorMessage && ev.FinishReason == resp.FinishReason &&
		ev.ModelVersion == resp.ModelVersion && ev.Interrupted == resp.Interrupted && len(resp.CustomMetadata)+len(resp.Extra) == 0 &&
		sameContent(resp.Content, ev.Content)
}

// hasResult reports whether an event has the result of a call of a tool.
func hasResult(s *step, ev *event.Event) bool {
	if ev.Content == nil {
		return false
	}
	for _, p := range ev.Content.Parts {
		if f := p.FunctionResponse; f != nil && f.ID == s.call && f.Name == s.name && sameBytes(f.Response, s.result) {
			return true
		}
	}
	return false
}

// sameContent reports whether two contents are the same but for the ids of calls. It
// compares addresses rather than bytes: contents that are made of an event share what
// it has.
func sameContent(a, b *event.Content) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || len(a.Parts) != len(b.Parts) || a.Role != b.Role && (a.Role != "" || b.Role != event.RoleModel) {
		return false
	}
	for i, p := range a.Parts {
		if q := b.Parts[i]; p != q && !samePart(p, q) {
			return false
		}
	}
	return true
}

func samePart(p, q *event.Part) bool {
	if p.Text != q.Text || p.Thought != q.Thought || !sameBytes(p.ThoughtSignature, q.ThoughtSignature) || len(p.Extra)+len(q.Extra) > 0 ||
		p.InlineData != q.InlineData || p.FileData != q.FileData || p.ExecutableCode != q.ExecutableCode || p.CodeExecutionResult != q.CodeExecutionResult {
		return false
	}
	if a, b := p.FunctionCall, q.FunctionCall; a != b && (a == nil || b == nil || a.Name != b.Name || !sameBytes(a.Args, b.Args)) {
		return false
	}
	a, b := p.FunctionResponse, q.FunctionResponse
	return a == b || a != nil && b != nil && a.Name == b.Name && a.WillContinue == b.WillContinue && sameBytes(a.Response, b.Response)
}

func sameBytes[B ~[]byte](a, b B) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// reference appends which event has a content: the number of the step with that
// event, 0 for the message, or its id.
func (r *recorder) reference(doc []byte, ev *event.Event) []byte {
	if ev == r.message {
		return append(doc, '0')
	}
	for i := len(r.steps) - 1; i >= max(len(r.steps)-maxSearch, 0); i-- {
		if r.steps[i].event == ev {
			return strconv.AppendInt(doc, int64(i+1), 10)
		}
	}
	return wire.Quote(doc, ev.ID)
}

// member appends a member of an object, unless its value is empty.
func member(doc []byte, name, value string) []byte {
	if value == "" {
		return doc
	}
	return wire.Quote(append(append(append(doc, `,"`...), name...), `":`...), value)
}

// appendMilliseconds appends milliseconds with three digits, which is cheaper than to
// format a floating-point number (run_recorded of make bench).
func appendMilliseconds(doc []byte, d time.Duration) []byte {
	us := max(d.Microseconds(), 0)
	doc = strconv.AppendInt(doc, us/1000, 10)
	us %= 1000
	return append(doc, '.', '0'+byte(us/100), '0'+byte(us/10%10), '0'+byte(us%10))
}
