package openai

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// head is what is known of a response when its run begins.
type head struct {
	id, model, conversation string
	created                 time.Time
	echo                    echo
}

// outcome is the state of a response.
type outcome struct {
	status  string
	reason  string // why it is incomplete
	failure string
	code    string
	ended   time.Time
	usage   *event.Usage // nil while it is not known
	output  [][]byte
}

// object returns the response.
func (h *head) object(o *outcome) []byte {
	doc := wire.Quote([]byte(`{"id":`), h.id)
	doc = strconv.AppendInt(append(doc, `,"object":"response","created_at":`...), h.created.Unix(), 10)
	doc = append(doc, `,"completed_at":`...)
	if o.status == "completed" && !o.ended.IsZero() {
		doc = strconv.AppendInt(doc, o.ended.Unix(), 10)
	} else {
		doc = append(doc, "null"...)
	}
	doc = wire.Quote(append(doc, `,"status":`...), o.status)
	doc = append(doc, `,"incomplete_details":`...)
	if o.reason != "" {
		doc = append(wire.Quote(append(doc, `{"reason":`...), o.reason), '}')
	} else {
		doc = append(doc, "null"...)
	}
	doc = append(doc, `,"error":`...)
	if o.status == "failed" {
		doc = wire.Quote(append(doc, `{"code":`...), o.code)
		doc = append(wire.Quote(append(doc, `,"message":`...), o.failure), '}')
	} else {
		doc = append(doc, "null"...)
	}
	doc = wire.Quote(append(doc, `,"model":`...), h.model)
	doc = append(doc, `,"output":[`...)
	for i, item := range o.output {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(doc, item...)
	}
	doc = append(doc, ']')
	for _, e := range echoed {
		doc = append(wire.Quote(append(doc, ','), e.name), ':')
		if v := h.echo[e.name]; v != nil {
			doc = append(doc, v...)
		} else {
			doc = append(doc, e.otherwise...)
		}
	}
	doc = append(wire.Quote(append(doc, `,"conversation":{"id":`...), h.conversation), '}')
	return append(usage(append(doc, `,"usage":`...), o.usage), '}')
}

// usage appends the tokens of a response, or null.
func usage(dst []byte, u *event.Usage) []byte {
	if u == nil {
		return append(dst, "null"...)
	}
	type details map[string]int64
	doc, _ := json.Marshal(struct { //nolint:errchkjson // numbers only
		Input         int64   `json:"input_tokens"`
		InputDetails  details `json:"input_tokens_details"`
		Output        int64   `json:"output_tokens"`
		OutputDetails details `json:"output_tokens_details"`
		Total         int64   `json:"total_tokens"`
	}{
		u.Prompt + u.ToolUsePrompt,
		details{"cached_tokens": u.CachedContent},
		u.Candidates + u.Thoughts,
		details{"reasoning_tokens": u.Thoughts},
		u.Total,
	})
	return append(dst, doc...)
}

// reasons are the error codes of events that make a response incomplete.
var reasons = map[string]string{
	"MAX_TOKENS": "max_output_tokens",
	"SAFETY":     "content_filter", "PROHIBITED_CONTENT": "content_filter", "BLOCKLIST": "content_filter",
	"RECITATION": "content_filter", "SPII": "content_filter", "IMAGE_SAFETY": "content_filter",
}

// ended sets the outcome of a run that has ended. It follows from the log and from
// what does not change after the end: a run that has waited remains incomplete when
// another one has gone on.
func (e *encoder) ended(row *session.Run) {
	o := &e.outcome
	o.ended, o.usage = row.Ended, &e.usage
	expired := row.Failure != nil && row.Failure.Type == run.WaitExpired
	waited := row.Status == session.Waiting || row.ResumedBy != "" || expired
	switch {
	case row.Status == session.Cancelled:
		o.status = "cancelled"
	case waited && e.functions > 0 && e.questions == 0:
		o.status = "completed"
	case waited:
		o.status, o.reason = "incomplete", "input_required"
	case e.failed != nil && reasons[e.failed.Name] != "":
		o.status, o.reason = "incomplete", reasons[e.failed.Name]
	case row.Status == session.Failed:
		o.status, o.code, o.failure = "failed", "server_error", "The run failed."
		if row.Failure != nil && row.Failure.Message != "" {
			o.failure = row.Failure.Message
		} else if e.failed != nil {
			o.failure = e.failed.Text
		}
	case e.failed != nil:
		o.status, o.code, o.failure = "failed", "server_error", e.failed.Text
	default:
		o.status = "completed"
	}
}

// messageItem returns a message with a text. One that is not done has none yet.
func messageItem(id, text string, done bool) []byte {
	doc := wire.Quote([]byte(`{"id":`), id)
	if !done {
		return append(doc, `,"type":"message","status":"in_progress","role":"assistant","content":[]}`...)
	}
	doc = append(doc, `,"type":"message","status":"completed","role":"assistant","content":[`...)
	return append(textPart(doc, text), "]}"...)
}

func textPart(dst []byte, text string) []byte {
	return append(wire.Quote(append(dst, `{"type":"output_text","text":`...), text), `,"annotations":[],"logprobs":[]}`...)
}

func summaryPart(dst []byte, text string) []byte {
	return append(wire.Quote(append(dst, `{"type":"summary_text","text":`...), text), '}')
}

// reasoningItem returns the thoughts of the model.
func reasoningItem(id, text string, done bool) []byte {
	doc := append(wire.Quote([]byte(`{"id":`), id), `,"type":"reasoning","summary":[`...)
	if done {
		doc = summaryPart(doc, text)
	}
	return append(doc, "]}"...)
}

// functionItem returns a call that the client makes.
func functionItem(id string, s *face.Step, done bool) []byte {
	doc := wire.Quote([]byte(`{"id":`), id)
	doc = wire.Quote(append(doc, `,"type":"function_call","call_id":`...), s.ID)
	doc = wire.Quote(append(doc, `,"name":`...), s.Name)
	if !done {
		return append(doc, `,"arguments":"","status":"in_progress"}`...)
	}
	return append(wire.Quote(append(doc, `,"arguments":`...), string(s.JSON)), `,"status":"completed"}`...)
}

// toolItem returns a call that the server makes.
func toolItem(id, call, name string, arguments, output json.RawMessage, status string) []byte {
	doc := wire.Quote([]byte(`{"id":`), id)
	doc = wire.Quote(append(doc, `,"type":"`+toolType+`","call_id":`...), call)
	doc = wire.Quote(append(doc, `,"name":`...), name)
	doc = wire.Quote(append(doc, `,"arguments":`...), string(arguments))
	doc = orNull(append(doc, `,"output":`...), string(output))
	return append(wire.Quote(append(doc, `,"status":`...), status), '}')
}

// questionItem returns what the server asks the user.
func questionItem(id string, q *face.Question) []byte {
	doc, _ := json.Marshal(struct { //nolint:errchkjson // its parts are JSON already
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Status    string          `json:"status"`
		Call      string          `json:"call_id"`
		Kind      string          `json:"kind"`
		Message   string          `json:"message"`
		Tool      string          `json:"name,omitempty"`
		Arguments string          `json:"arguments,omitempty"`
		Schema    json.RawMessage `json:"schema,omitempty"`
		AuthURI   string          `json:"auth_uri,omitempty"`
		Payload   json.RawMessage `json:"payload,omitempty"`
	}{id, questionType, "incomplete", q.ID, string(q.Kind), q.Message, q.Tool, string(q.Args), q.Schema, q.AuthURI, q.Payload})
	return doc
}

// partItem returns a file of the agent, or code that was run.
func partItem(id string, p *event.Part) []byte {
	var fields any
	switch {
	case p.InlineData != nil:
		fields = map[string]string{"id": id, "type": "parley:file", "status": "completed", "mime_type": p.InlineData.MIMEType, "filename": p.InlineData.DisplayName, "url": face.DataURL(p.InlineData)}
	case p.FileData != nil:
		fields = map[string]string{"id": id, "type": "parley:file", "status": "completed", "mime_type": p.FileData.MIMEType, "filename": p.FileData.DisplayName, "url": p.FileData.FileURI}
	case p.ExecutableCode != nil:
		fields = map[string]string{"id": id, "type": "parley:code", "status": "completed", "language": p.ExecutableCode.Language, "code": p.ExecutableCode.Code}
	case p.CodeExecutionResult != nil:
		fields = map[string]string{"id": id, "type": "parley:code_result", "status": "completed", "outcome": p.CodeExecutionResult.Outcome, "output": p.CodeExecutionResult.Output}
	}
	doc, _ := json.Marshal(fields) //nolint:errchkjson // texts only
	return doc
}
