package a2a

import (
	"encoding/json"
	"strconv"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
)

// update is what a step changes: a piece of an artifact, or a remark, which is the
// message of a status.
type update struct {
	artifact  *artifact
	add, last bool
	remark    []part
	id        string // of the remark
	author    string
}

// translator translates the steps of a run. Answers and files are artifacts; thoughts,
// calls, results and code are remarks.
type translator struct {
	open  map[string]bool // texts of which pieces were sent
	held  *face.Step      // a piece that is not sent yet: the whole text may follow at once
	files map[string]int  // by event
	count map[string]int  // of remarks, by event
}

// step returns the updates of a step. more is true if other steps of the same event
// follow immediately.
func (t *translator) step(s *face.Step, more bool) []update {
	var out []update
	if t.held != nil && (s.Kind != face.TextEnd || s.ID != t.held.ID) {
		out = append(out, t.piece(t.held))
	}
	t.held = nil
	switch s.Kind {
	case face.TextDelta:
		if more && !t.open[s.ID] {
			held := *s
			t.held = &held
			return out
		}
		if s.Text != "" {
			out = append(out, t.piece(s))
		}
	case face.TextEnd:
		if s.Text != "" {
			out = append(out, update{artifact: &artifact{id: s.ID, parts: []part{textPart(s.Text)}}, last: true, author: s.Author})
		}
	case face.ThoughtEnd:
		p := textPart(s.Text)
		p.meta = p.meta.with("adk_thought", json.RawMessage("true"))
		out = append(out, t.remark(s, p))
	case face.Call:
		out = append(out, t.remark(s, callPart(s.ID, s.Name, s.JSON, s.Pending)))
	case face.Result:
		out = append(out, t.remark(s, dataPart("function_response", call(s.ID, s.Name, "response", s.JSON))))
	case face.Code:
		if p, ok := codePart(s.Part); ok {
			out = append(out, t.remark(s, p))
		}
	case face.File:
		if t.files == nil {
			t.files = map[string]int{}
		}
		t.files[s.EventID]++
		p := filePart(s.Part)
		a := &artifact{id: s.EventID + "-file-" + strconv.Itoa(t.files[s.EventID]), name: p.name, parts: []part{p}}
		out = append(out, update{artifact: a, last: true, author: s.Author})
	default:
	}
	return out
}

// piece returns a piece of a text.
func (t *translator) piece(s *face.Step) update {
	if t.open == nil {
		t.open = map[string]bool{}
	}
	add := t.open[s.ID]
	t.open[s.ID] = true
	return update{artifact: &artifact{id: s.ID, parts: []part{textPart(s.Text)}}, add: add, author: s.Author}
}

func (t *translator) remark(s *face.Step, p part) update {
	if t.count == nil {
		t.count = map[string]int{}
	}
	t.count[s.EventID]++
	return update{remark: []part{p}, id: s.EventID + "-remark-" + strconv.Itoa(t.count[s.EventID]), author: s.Author}
}

// artifacts returns the artifacts of steps.
func artifacts(steps []face.Step) []*artifact {
	var list []*artifact
	t := &translator{}
	for i := range steps {
		for _, u := range t.step(&steps[i], true) {
			if u.artifact != nil && u.last {
				list = append(list, u.artifact)
			}
		}
	}
	return list
}

// call returns a call or its result as ADK has them.
func call(id, name, member string, value json.RawMessage) json.RawMessage {
	doc := wire.Quote([]byte(`{"id":`), id)
	doc = wire.Quote(append(doc, `,"name":`...), name)
	doc = append(wire.Quote(append(doc, ','), member), ':')
	if len(value) == 0 {
		value = json.RawMessage("{}")
	}
	return append(append(doc, value...), '}')
}

// dataPart returns a part with data of a type that agents of ADK know.
func dataPart(kind string, data json.RawMessage) part {
	return part{data: data, meta: metadata{}.text("adk_type", kind)}
}

func callPart(id, name string, args json.RawMessage, pending bool) part {
	p := dataPart("function_call", call(id, name, "args", args))
	if pending {
		p.meta = p.meta.with("adk_is_long_running", json.RawMessage("true"))
	}
	return p
}

func codePart(p *event.Part) (part, bool) {
	doc, err := p.MarshalJSON()
	var members struct {
		Code   json.RawMessage `json:"executableCode"`
		Result json.RawMessage `json:"codeExecutionResult"`
	}
	if err != nil || json.Unmarshal(doc, &members) != nil {
		return part{}, false
	}
	if members.Code != nil {
		return dataPart("executable_code", members.Code), true
	}
	return dataPart("code_execution_result", members.Result), members.Result != nil
}

// jsonType is the media type of data.
const jsonType = "application/json"

// filePart returns a file. One without a name that is JSON is data.
func filePart(p *event.Part) part {
	if f := p.FileData; f != nil {
		return part{url: f.FileURI, media: f.MIMEType, name: f.DisplayName}
	}
	b := p.InlineData
	if b.MIMEType == jsonType && b.DisplayName == "" && json.Valid(b.Data) && wire.IsKept(b.Data) {
		if doc, err := wire.Compact(nil, b.Data); err == nil {
			return part{data: doc, media: jsonType}
		}
	}
	return part{raw: b.Data, media: b.MIMEType, name: b.DisplayName}
}

// messageParts returns the parts of a message of the user.
func messageParts(c *event.Content) []part {
	parts := []part{}
	if c == nil {
		return parts
	}
	for _, p := range c.Parts {
		switch {
		case p.FunctionResponse != nil:
			r := p.FunctionResponse
			parts = append(parts, dataPart("function_response", call(r.ID, r.Name, "response", r.Response)))
		case p.InlineData != nil, p.FileData != nil:
			parts = append(parts, filePart(p))
		case p.IsText():
			parts = append(parts, textPart(p.Text))
		}
	}
	return parts
}

// asked returns the parts of a message with what a task waits for, and its state.
func asked(open []*run.OpenCall) ([]part, state) {
	now := authRequired
	var parts []part
	for _, c := range open {
		q := face.QuestionIn(c)
		if q == nil || q.Kind != face.Login {
			now = inputRequired
		}
		switch {
		case q == nil:
		case q.Kind == face.Login && q.AuthURI != "":
			parts = append(parts, textPart(q.Message+" "+q.AuthURI))
		case q.Kind == face.Confirmation && q.Message == "":
			parts = append(parts, textPart("May "+q.Tool+" be called? Answer yes or no."))
		case q.Message != "":
			parts = append(parts, textPart(q.Message))
		}
		parts = append(parts, callPart(c.ID, c.Name, c.Args, true))
	}
	if len(open) == 0 {
		now = inputRequired
	}
	return parts, now
}

// empty reports whether nothing was translated yet.
func (t *translator) empty() bool {
	return t.held == nil && len(t.open) == 0 && len(t.files) == 0 && len(t.count) == 0
}
