package agui

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// encoder writes the events of a run. It keeps the order that clients check: content
// only between the start and the end of its message, and everything closed at the end.
type encoder struct {
	thread, run string
	// current is true for clients of version 1.0 and later. Older ones refuse values
	// that they do not know.
	current bool
	// continued is true for a stream that resumes after an event of an earlier one: the run
	// has started.
	continued bool
	root      string // the first agent of the application
	state     session.State
	keys      map[string]bool // of the state that the client has
	speaker   face.Speaking
	asked     []*face.Question
	pending   []string // calls that the client makes
	usage     map[string]*event.Usage
	failure   *face.Step
	// messages returns the conversation as it is in the log.
	messages func() []byte
	frame    []byte
}

// event writes one event. members is its JSON after the type, and may be empty.
func (e *encoder) event(dst []byte, kind, position, members string) []byte {
	e.frame = wire.Quote(append(e.frame[:0], `{"type":`...), kind)
	if members != "" {
		e.frame = append(append(e.frame, ','), members...)
	}
	return sse.Append(dst, "", position, append(e.frame, '}'))
}

// member returns a member of an object with a text.
func member(name, text string) string {
	return string(wire.Quote(append(wire.Quote(nil, name), ':'), text))
}

// members joins members of an object; empty ones are left out.
func members(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(one string) bool { return one == "" }), ",")
}

func (e *encoder) ids() string { return member("threadId", e.thread) + "," + member("runId", e.run) }

// Begin implements face.Encoder.
func (e *encoder) Begin(dst []byte) []byte {
	if e.continued {
		return dst
	}
	version := ""
	if e.current {
		version = `"protocolVersion":"1.0"`
	}
	dst = e.event(dst, "RUN_STARTED", "", members(e.ids(), version))
	if len(e.keys) > 0 {
		dst = e.snapshot(dst)
	}
	return dst
}

func (e *encoder) snapshot(dst []byte) []byte {
	return e.event(dst, "STATE_SNAPSHOT", "", `"snapshot":`+string(document.State(nil, e.state)))
}

// Step implements face.Encoder.
func (e *encoder) Step(dst []byte, s *face.Step, position string) []byte {
	if s.Kind == face.TextDelta || s.Kind == face.ThoughtDelta {
		return e.delta(dst, s, position)
	}
	id := member("messageId", s.ID)
	owner := e.owner(s)
	switch s.Kind {
	case face.TextStart:
		e.failure = nil // the agents have gone on
		return e.event(dst, "TEXT_MESSAGE_START", position, members(id, `"role":"assistant"`, owner))
	case face.TextEnd:
		return e.event(dst, "TEXT_MESSAGE_END", position, members(id, owner))
	case face.ThoughtStart:
		dst = e.event(dst, "REASONING_START", "", members(id, owner))
		return e.event(dst, "REASONING_MESSAGE_START", position, members(id, `"role":"reasoning"`, owner))
	case face.ThoughtEnd:
		dst = e.event(dst, "REASONING_MESSAGE_END", "", members(id, owner))
		return e.event(dst, "REASONING_END", position, members(id, owner))
	case face.Call:
		if s.Pending {
			e.pending = append(e.pending, s.ID)
		}
		call := member("toolCallId", s.ID)
		dst = e.event(dst, "TOOL_CALL_START", "", members(call, member("toolCallName", s.Name), member("parentMessageId", s.Parent), owner))
		dst = e.event(dst, "TOOL_CALL_ARGS", "", members(call, member("delta", string(s.JSON)), owner))
		return e.event(dst, "TOOL_CALL_END", position, members(call, owner))
	case face.Result:
		e.pending = slices.DeleteFunc(e.pending, func(id string) bool { return id == s.ID })
		return e.event(dst, "TOOL_CALL_RESULT", position, members(member("messageId", s.EventID+"-"+s.ID), member("toolCallId", s.ID),
			member("content", string(s.JSON)), `"role":"tool"`, owner))
	case face.Ask:
		e.asked = append(e.asked, s.Question)
	case face.State:
		return e.stateDelta(dst, s.Delta, position)
	case face.File, face.Code:
		doc, err := s.Part.MarshalJSON()
		if err != nil {
			return dst
		}
		name := "file"
		if s.Kind == face.Code {
			name = "code"
		}
		return e.event(dst, "CUSTOM", position, members(member("name", name), `"value":`+string(doc), owner))
	case face.Speaker:
		return e.beginStep(dst, face.Speaking{Name: s.Name, Event: s.ID}, position)
	case face.Usage:
		if e.usage == nil {
			e.usage = map[string]*event.Usage{}
		}
		if e.usage[s.Name] == nil {
			e.usage[s.Name] = &event.Usage{}
		}
		e.usage[s.Name].Add(s.Usage)
	case face.Failure:
		failure := *s
		e.failure = &failure
	default: // pieces are written above, and the protocol has no reason why a model stopped
	}
	if position != "" && len(dst) > 0 { // the step has no event of its own
		return sse.Identify(dst, position)
	}
	return dst
}

// delta writes a piece of a text. Most events are pieces (BenchmarkPieces).
func (e *encoder) delta(dst []byte, s *face.Step, position string) []byte {
	kind := `{"type":"TEXT_MESSAGE_CONTENT","messageId":`
	if s.Kind == face.ThoughtDelta {
		kind = `{"type":"REASONING_MESSAGE_CONTENT","messageId":`
	}
	e.frame = wire.Quote(append(e.frame[:0], kind...), s.ID)
	e.frame = wire.Quote(append(e.frame, `,"delta":`...), s.Text)
	if owner := e.owner(s); owner != "" {
		e.frame = append(append(e.frame, ','), owner...)
	}
	e.frame = append(e.frame, '}')
	return sse.Append(dst, "", position, e.frame)
}

// beginStep ends the step of one agent and begins that of another.
func (e *encoder) beginStep(dst []byte, next face.Speaking, position string) []byte {
	dst = e.endStep(dst)
	if e.speaker = next; next.Name == "" {
		return dst
	}
	if e.isSub() {
		dst = e.event(dst, "SUBAGENT_STARTED", "", members(member("subagentRunId", next.Event), member("name", next.Name)))
	}
	return e.event(dst, "STEP_STARTED", position, members(member("stepName", next.Name), e.sub()))
}

// endStep ends the step of the current agent.
func (e *encoder) endStep(dst []byte) []byte {
	if e.speaker.Name == "" {
		return dst
	}
	dst = e.event(dst, "STEP_FINISHED", "", members(member("stepName", e.speaker.Name), e.sub()))
	if e.isSub() {
		dst = e.event(dst, "SUBAGENT_FINISHED", "", member("subagentRunId", e.speaker.Event))
	}
	e.speaker = face.Speaking{}
	return dst
}

// isSub reports whether the current agent is not the root. Only current clients
// know sub-agents.
func (e *encoder) isSub() bool { return e.current && e.speaker.Name != "" && e.speaker.Name != e.root }

// sub returns the member that names the current sub-agent.
func (e *encoder) sub() string {
	if !e.isSub() {
		return ""
	}
	return member("subagentRunId", e.speaker.Event)
}

// owner returns the member that names the sub-agent of a step.
func (e *encoder) owner(s *face.Step) string {
	if s.Branch != "" || s.Author != e.speaker.Name {
		return ""
	}
	return e.sub()
}

// stateDelta writes a change of the state. The client has the keys that were sent to it.
func (e *encoder) stateDelta(dst []byte, delta map[string]json.RawMessage, position string) []byte {
	var patch []byte
	for _, key := range slices.Sorted(maps.Keys(delta)) {
		value := delta[key]
		path := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		op := `{"op":"add",`
		if sessionrt.IsNull(value) {
			if !e.keys[key] {
				continue
			}
			op = `{"op":"remove",`
		}
		if patch != nil {
			patch = append(patch, ',')
		}
		patch = append(append(patch, op...), member("path", path)...)
		if sessionrt.IsNull(value) {
			delete(e.keys, key)
		} else {
			patch = append(append(patch, `,"value":`...), value...)
			e.keys[key] = true
		}
		patch = append(patch, '}')
	}
	return e.event(dst, "STATE_DELTA", position, `"delta":[`+string(patch)+"]")
}

// End implements face.Encoder.
func (e *encoder) End(dst []byte, row *session.Run) []byte {
	dst = e.endStep(dst)
	asks := row.Status == session.Waiting && len(e.asked) > 0
	// A server that takes a run over asks the model again: what the client has received of
	// its first answer is not in the log.
	if asks || e.continued && row.Attempt > 1 {
		doc := e.messages() // also reads the state
		dst = e.snapshot(dst)
		if doc != nil {
			dst = e.event(dst, "MESSAGES_SNAPSHOT", "", `"messages":`+string(doc))
		}
	}
	switch {
	case row.Status == session.Cancelled:
		if !e.current {
			return e.event(dst, "RUN_FINISHED", "", e.ids())
		}
		return e.event(dst, "RUN_FINISHED", "", members(e.ids(), `"outcome":{"type":"cancelled"}`, e.used()))
	case row.Failure != nil:
		return e.failed(dst, row.Failure.Message, row.Failure.Type)
	case e.failure != nil:
		return e.failed(dst, e.failure.Text, e.failure.Name)
	case asks:
		return e.event(dst, "RUN_FINISHED", "", members(e.ids(), `"outcome":{"type":"interrupt","interrupts":`+string(interrupts(e.asked))+"}", e.used()))
	case row.Status == session.Waiting && e.current && len(e.pending) > 0:
		ids, err := json.Marshal(e.pending)
		if err != nil {
			ids = []byte("[]")
		}
		return e.event(dst, "RUN_FINISHED", "", members(e.ids(), `"outcome":{"type":"success","pendingToolCallIds":`+string(ids)+"}", e.used()))
	}
	return e.event(dst, "RUN_FINISHED", "", members(e.ids(), e.used()))
}

// Break implements face.Encoder.
func (e *encoder) Break(dst []byte, p face.Problem) []byte {
	return e.failed(e.endStep(dst), p.Message, "HTTP_"+strconv.Itoa(p.Status))
}

func (e *encoder) failed(dst []byte, message, code string) []byte {
	return e.event(dst, "RUN_ERROR", "", members(member("message", message), member("code", code), e.used()))
}

// used returns the tokens that the run has used, by model.
func (e *encoder) used() string {
	if !e.current || len(e.usage) == 0 {
		return ""
	}
	type used struct {
		Model     string `json:"model,omitempty"`
		Input     int64  `json:"inputTokens,omitempty"`
		Output    int64  `json:"outputTokens,omitempty"`
		Total     int64  `json:"totalTokens,omitempty"`
		Reasoning int64  `json:"reasoningTokens,omitempty"`
		Cached    int64  `json:"cachedInputTokens,omitempty"`
	}
	var list []used
	for _, model := range slices.Sorted(maps.Keys(e.usage)) {
		u := e.usage[model]
		list = append(list, used{model, max(u.Prompt, 0), max(u.Candidates, 0), max(u.Total, 0), max(u.Thoughts, 0), max(u.CachedContent, 0)})
	}
	text, _ := json.Marshal(list) //nolint:errchkjson // texts and numbers
	return `"usage":` + string(text)
}

// interrupt is a question as the protocol has it.
type interrupt struct {
	ID       string          `json:"id"`
	Reason   string          `json:"reason"`
	Message  string          `json:"message,omitempty"`
	Call     string          `json:"toolCallId,omitempty"`
	Schema   json.RawMessage `json:"responseSchema,omitempty"`
	Metadata struct {
		AuthURI string          `json:"authUri,omitempty"`
		Tool    string          `json:"toolName,omitempty"`
		Args    json.RawMessage `json:"args,omitempty"`
		Payload json.RawMessage `json:"payload,omitempty"`
	} `json:"metadata,omitzero"`
}

func interrupts(asked []*face.Question) []byte {
	return document.Array(nil, asked, func(dst []byte, q *face.Question) []byte {
		one := interrupt{ID: q.ID, Reason: reasons[q.Kind], Message: q.Message, Call: q.Call, Schema: schemaOf(q)}
		one.Metadata.AuthURI, one.Metadata.Tool, one.Metadata.Args, one.Metadata.Payload = q.AuthURI, q.Tool, q.Args, q.Payload
		text, _ := json.Marshal(one) // its JSON is that of events, so it is valid
		return append(dst, text...)
	})
}

// reasons are those of interrupts.
var reasons = map[face.QuestionKind]string{
	face.Confirmation: "confirmation", face.Input: "input_required", face.Login: "adk:credential",
}

// schemaOf returns the schema of the payload that answers a question; nil for any.
func schemaOf(q *face.Question) json.RawMessage {
	switch {
	case q.Kind == face.Confirmation:
		return json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean"},"payload":{},"editedArgs":{"type":"object"},"reason":{"type":"string"}},"required":["approved"]}`)
	case len(q.Schema) > 0 && q.Schema[0] == '{':
		return q.Schema
	}
	return nil
}
