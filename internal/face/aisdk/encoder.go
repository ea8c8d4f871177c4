package aisdk

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// encoder writes the chunks of a run. It implements face.Encoder.
type encoder struct {
	run, message string // their ids
	// before are the steps before those of the run: its answers and, in a replay, the
	// runs that it continues.
	before []face.Step
	replay bool

	calls     map[string]*face.Step // by id
	shown     map[string]bool       // calls that the client has
	questions map[string]*face.Question
	state     map[string]json.RawMessage // what has changed

	step   string // the event of the model call that is open; empty if none is
	agent  string
	model  string
	failed *face.Step
	cut    string // why the model stopped
}

var _ face.Encoder = (*encoder)(nil)

// chunk appends a chunk with members: names and texts in turn.
func chunk(dst []byte, kind string, members ...string) []byte {
	return with(dst, kind, "", nil, members...)
}

// with appends a chunk that also has a member with JSON.
func with(dst []byte, kind, member string, doc []byte, members ...string) []byte {
	b := sse.Buffer()
	defer sse.Release(b)
	*b = wire.Quote(append(*b, `{"type":`...), kind)
	for i := 0; i+1 < len(members); i += 2 {
		*b = append(append(append(*b, `,"`...), members[i]...), `":`...)
		*b = wire.Quote(*b, members[i+1])
	}
	if member != "" {
		*b = append(append(append(*b, `,"`...), member...), `":`...)
		*b = append(*b, doc...)
	}
	*b = append(*b, '}')
	return sse.Append(dst, "", "", *b)
}

// encode returns v as JSON. v has strings, numbers, booleans and valid JSON only.
func encode(v any) []byte {
	doc, _ := json.Marshal(v) //nolint:errchkjson // as above
	return doc
}

// Begin implements face.Encoder.
func (e *encoder) Begin(dst []byte) []byte {
	dst = with(dst, "start", "messageMetadata", encode(map[string]string{"runId": e.run}), "messageId", e.message)
	for i := range e.before {
		dst = e.Step(dst, &e.before[i], "")
	}
	e.before, e.failed, e.cut = nil, nil, ""
	return dst
}

// Step implements face.Encoder.
func (e *encoder) Step(dst []byte, s *face.Step, _ string) []byte {
	if s.Author == event.User && s.Kind != face.Result {
		return dst // the client has it
	}
	switch s.Kind {
	case face.TextStart:
		return chunk(e.begin(dst, s), "text-start", "id", s.ID)
	case face.TextDelta:
		return chunk(dst, "text-delta", "id", s.ID, "delta", s.Text)
	case face.TextEnd:
		return chunk(dst, "text-end", "id", s.ID)
	case face.ThoughtStart:
		return chunk(e.begin(dst, s), "reasoning-start", "id", s.ID)
	case face.ThoughtDelta:
		return chunk(dst, "reasoning-delta", "id", s.ID, "delta", s.Text)
	case face.ThoughtEnd:
		return chunk(dst, "reasoning-end", "id", s.ID)
	case face.Call:
		e.learn(s)
		return e.call(e.begin(dst, s), s)
	case face.Result:
		return e.result(dst, s)
	case face.Ask:
		e.learn(s)
		return e.ask(dst, s.Question)
	case face.State:
		maps.Copy(e.state, s.Delta)
		return with(dst, "data-state", "data", encode(e.state), "id", "state")
	case face.File:
		return e.file(e.begin(dst, s), s.Part)
	case face.Code:
		if doc, err := s.Part.MarshalJSON(); err == nil {
			return with(e.begin(dst, s), "data-code", "data", doc)
		}
	case face.Speaker:
		e.agent = s.Name
		return with(dst, "message-metadata", "messageMetadata", encode(map[string]string{"agent": s.Name}))
	case face.Usage:
		if s.Name != "" {
			e.model = s.Name
		}
	case face.Saved: // the protocol does not have it
	case face.Cut:
		e.cut = s.Name
	case face.Failure:
		// The client ends a stream at an error, and other agents may continue.
		kept := *s // steps are reused
		e.failed = &kept
	}
	return dst
}

// learn keeps what later steps refer to.
func (e *encoder) learn(s *face.Step) {
	kept := *s // steps are reused
	switch s.Kind {
	case face.Call:
		e.calls[s.ID] = &kept
	case face.Ask:
		e.questions[s.ID] = s.Question
	default:
	}
}

// begin starts the step of a model call, unless it is open.
func (e *encoder) begin(dst []byte, s *face.Step) []byte {
	if e.step == s.EventID {
		return dst
	}
	dst = e.finish(dst)
	e.step, e.cut, e.failed = s.EventID, "", nil
	return chunk(dst, "start-step")
}

// finish ends the step that is open.
func (e *encoder) finish(dst []byte) []byte {
	if e.step == "" {
		return dst
	}
	e.step = ""
	return chunk(dst, "finish-step")
}

// call writes a tool call. One that the client is to make has the type of its tool;
// the client cannot know the tools of the server.
func (e *encoder) call(dst []byte, s *face.Step) []byte {
	e.shown[s.ID] = true
	name := []string{"toolCallId", s.ID, "toolName", s.Name}
	if s.Pending {
		dst = chunk(dst, "tool-input-start", name...)
		return with(dst, "tool-input-available", "input", s.JSON, name...)
	}
	const server = `true,"dynamic":true`
	dst = with(dst, "tool-input-start", "providerExecuted", []byte(server), name...)
	return with(dst, "tool-input-available", "providerExecuted", append([]byte(server+`,"input":`), s.JSON...), name...)
}

// show writes the call with an id if the client does not have it. It reports whether
// the client has it then.
func (e *encoder) show(dst []byte, id string) ([]byte, bool) {
	if e.shown[id] {
		return dst, true
	}
	s, ok := e.calls[id]
	if !ok {
		return dst, false
	}
	return e.call(dst, s), true
}

// result writes the result of a call, or the answer to a question.
func (e *encoder) result(dst []byte, s *face.Step) []byte {
	if q := e.questions[s.ID]; q != nil {
		if s.Author != event.User {
			return dst // a receipt
		}
		return e.answered(dst, q, s.JSON)
	}
	output := s.JSON
	if s.Author == event.User {
		if e.shown[s.ID] && !e.replay {
			return dst // the client has the result: it has sent it
		}
		output = unwrap(output)
	}
	dst, ok := e.show(dst, s.ID)
	switch {
	case !ok:
		return dst
	case agentrt.IsRejected(s.JSON):
		return chunk(dst, "tool-output-denied", "toolCallId", s.ID)
	case s.Failed:
		return chunk(dst, "tool-output-error", "toolCallId", s.ID, "errorText", errorText(s.JSON))
	}
	return with(dst, "tool-output-available", "output", output, "toolCallId", s.ID)
}

// ask writes a question: a confirmation of a call as the approval of the client's
// framework, anything else as data that has the id of the question.
func (e *encoder) ask(dst []byte, q *face.Question) []byte {
	if q.Kind != face.Confirmation {
		return e.data(dst, q, false)
	}
	dst, ok := e.show(dst, q.Call)
	if !ok { // a question of a workflow is about no call of a model
		return e.data(dst, q, false)
	}
	members := []string{"approvalId", q.ID, "toolCallId", q.Call}
	if q.Message != "" {
		members = append(members, "reason", q.Message)
	}
	if q.Payload != nil {
		return with(dst, "tool-approval-request", "approvalDescriptor", q.Payload, members...)
	}
	return chunk(dst, "tool-approval-request", members...)
}

// question is the data of a question.
type question struct {
	ID       string          `json:"id"`
	Message  string          `json:"message,omitempty"`
	Tool     string          `json:"toolName,omitempty"`
	Call     string          `json:"toolCallId,omitempty"`
	Schema   json.RawMessage `json:"schema,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	AuthURI  string          `json:"authUri,omitempty"`
	Answered bool            `json:"answered"`
}

func (e *encoder) data(dst []byte, q *face.Question, answered bool) []byte {
	doc := encode(&question{
		ID: q.ID, Message: q.Message, Tool: q.Tool, Call: q.Call, Schema: q.Schema, Payload: q.Payload, AuthURI: q.AuthURI, Answered: answered,
	})
	return with(dst, "data-"+string(q.Kind), "data", doc, "id", q.ID)
}

// answered writes that a question has its answer.
func (e *encoder) answered(dst []byte, q *face.Question, answer json.RawMessage) []byte {
	if q.Kind != face.Confirmation || !e.shown[q.Call] {
		return e.data(dst, q, true)
	}
	if !e.replay {
		return dst // the client has it
	}
	var decision struct {
		Confirmed bool   `json:"confirmed"`
		Reason    string `json:"reason"`
	}
	_ = json.Unmarshal(answer, &decision) // the server has checked it
	if decision.Reason != "" {
		return with(dst, "tool-approval-response", "approved", encode(decision.Confirmed), "approvalId", q.ID, "reason", decision.Reason)
	}
	return with(dst, "tool-approval-response", "approved", encode(decision.Confirmed), "approvalId", q.ID)
}

func (e *encoder) file(dst []byte, p *event.Part) []byte {
	if b := p.InlineData; b != nil {
		return chunk(dst, "file", "url", face.DataURL(b), "mediaType", b.MIMEType)
	}
	media := p.FileData.MIMEType
	if media == "" {
		media = "application/octet-stream"
	}
	return chunk(dst, "file", "url", p.FileData.FileURI, "mediaType", media)
}

// done ends every stream.
const done = "data: [DONE]\n\n"

// End implements face.Encoder.
func (e *encoder) End(dst []byte, row *session.Run) []byte {
	dst = e.finish(dst)
	metadata := e.metadata(row)
	if row.Status == session.Cancelled {
		dst = with(dst, "message-metadata", "messageMetadata", metadata)
		reason := "The run was cancelled."
		if row.Failure != nil {
			reason = row.Failure.Message
		}
		return append(chunk(dst, "abort", "reason", reason), done...)
	}
	reason := e.reason(row)
	var text string
	switch {
	case row.Failure != nil:
		text = row.Failure.Message
	case e.failed != nil:
		text = cmp.Or(e.failed.Text, e.failed.Name)
	default:
		return append(with(dst, "finish", "messageMetadata", metadata, "finishReason", reason), done...)
	}
	dst = with(dst, "message-metadata", "messageMetadata", metadata) // the client ends the stream at the error
	dst = chunk(dst, "error", "errorText", text)
	return append(chunk(dst, "finish", "finishReason", reason), done...)
}

// Break implements face.Encoder.
func (e *encoder) Break(dst []byte, p face.Problem) []byte {
	return append(chunk(e.finish(dst), "error", "errorText", p.Message), done...)
}

// filtered are the codes of answers that a model or its provider has withheld.
var filtered = []string{"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"}

// reason returns why a run has ended.
func (e *encoder) reason(row *session.Run) string {
	code := e.cut
	if e.failed != nil {
		code = e.failed.Name
	}
	switch {
	case slices.Contains(filtered, code):
		return "content-filter"
	case code == "MAX_TOKENS":
		return "length"
	case row.Status == session.Failed || e.failed != nil:
		return "error"
	case row.Status == session.Waiting:
		return "tool-calls"
	case code != "":
		return "other"
	}
	return "stop"
}

// metadata returns the metadata of a message at the end of a run. The names of usage
// are those of the AI SDK.
func (e *encoder) metadata(row *session.Run) []byte {
	type input struct {
		CacheRead int64 `json:"cacheReadTokens"`
	}
	type output struct {
		Reasoning int64 `json:"reasoningTokens"`
	}
	type usage struct {
		Input  int64  `json:"inputTokens"`
		Output int64  `json:"outputTokens"`
		Total  int64  `json:"totalTokens"`
		Cached input  `json:"inputTokenDetails"`
		Shares output `json:"outputTokenDetails"`
	}
	u := row.Usage
	return encode(struct {
		Run    string `json:"runId"`
		Status string `json:"status"`
		Model  string `json:"model,omitempty"`
		Usage  *usage `json:"usage"`
	}{e.run, string(row.Status), e.model, &usage{
		Input: u.Prompt + u.ToolUsePrompt, Output: u.Candidates + u.Thoughts, Total: u.Total, Cached: input{u.CachedContent}, Shares: output{u.Thoughts},
	}})
}

// unwrap returns what face.Wrap has wrapped.
func unwrap(doc json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(doc, &object) == nil && len(object) == 1 && object["result"] != nil {
		return object["result"]
	}
	return doc
}

// errorText returns the text of an error that a tool has returned.
func errorText(doc json.RawMessage) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(doc, &object) == nil {
		for _, member := range []string{"error", "error_message", "errorMessage", "message"} {
			var text string
			if json.Unmarshal(object[member], &text) == nil && text != "" {
				return text
			}
		}
	}
	return string(doc)
}
