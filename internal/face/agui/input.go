package agui

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// input is a RunAgentInput.
type input struct {
	thread, run, version string
	messages             []message
	state                map[string]json.RawMessage
	tools                []tool.Declaration
	context              json.RawMessage
	resume               []answer
}

// message is a message of the client. It sends all of them every time.
type message struct {
	id, role string
	parts    []*event.Part
	calls    []*event.FunctionCall // of an assistant
	call     string                // that a tool message answers
	failure  string                // of the tool
}

// answer answers an interrupt.
type answer struct {
	id, status string
	payload    json.RawMessage
}

// readInput decodes the body of a request.
func readInput(doc []byte) (*input, error) {
	in := &input{}
	err := wire.Decode(doc, func(r *wire.Reader) error { return in.read(r) })
	if err != nil {
		return nil, err
	}
	for _, member := range []struct{ name, value string }{{"threadId", in.thread}, {"runId", in.run}} {
		if member.value == "" {
			return nil, wire.Missing(member.name)
		}
	}
	return in, nil
}

func (in *input) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "threadId":
			return r.ID(&in.thread)
		case "runId":
			return r.ID(&in.run)
		case "protocolVersion":
			return r.String(&in.version)
		case "messages":
			return r.Array(func() error {
				m := message{}
				err := m.read(r)
				in.messages = append(in.messages, m)
				return err
			})
		case "state":
			if r.Kind() != '{' { // "any JSON": a state that is not an object has no keys
				return r.Skip()
			}
			return r.RawMap(&in.state)
		case "tools":
			return r.Array(func() error {
				d := tool.Declaration{}
				err := readTool(r, &d)
				in.tools = append(in.tools, d)
				return err
			})
		case "context":
			return r.Raw(&in.context)
		case "resume":
			return r.Array(func() error {
				a := answer{}
				err := a.read(r)
				in.resume = append(in.resume, a)
				return err
			})
		}
		return r.Skip()
	})
}

func readTool(r *wire.Reader, d *tool.Declaration) error {
	return r.Object(func(name string) error {
		switch name {
		case "name":
			return r.String(&d.Name)
		case "description":
			return r.String(&d.Description)
		case "parameters":
			return r.Raw(&d.Parameters)
		}
		return r.Skip()
	})
}

func (a *answer) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "interruptId":
			return r.ID(&a.id)
		case "status":
			return r.String(&a.status)
		case "payload":
			return r.Raw(&a.payload)
		}
		return r.Skip()
	})
}

func (m *message) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.ID(&m.id)
		case "role":
			return r.String(&m.role)
		case "content":
			return m.content(r)
		case "toolCallId":
			return r.ID(&m.call)
		case "error":
			return r.String(&m.failure)
		case "toolCalls":
			return r.Array(func() error {
				call := &event.FunctionCall{}
				err := readCall(r, call)
				m.calls = append(m.calls, call)
				return err
			})
		}
		return r.Skip()
	})
}

func readCall(r *wire.Reader, call *event.FunctionCall) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.ID(&call.ID)
		case "function":
			return r.Object(func(name string) error {
				switch name {
				case "name":
					return r.String(&call.Name)
				case "arguments":
					var text string
					err := r.String(&text)
					call.Args = face.WrapText(text)
					return err
				}
				return r.Skip()
			})
		}
		return r.Skip()
	})
}

// content reads a text, or a list of parts. That of an activity is an object, which
// the server does not need.
func (m *message) content(r *wire.Reader) error {
	known, err := face.ReadContent(r, &m.parts, func() (*event.Part, error) {
		p := part{}
		if err := p.read(r); err != nil {
			return nil, err
		}
		made, err := p.make()
		if err != nil {
			return nil, r.Errorf("value_error", "The content %v", err)
		}
		return made, nil
	})
	if err == nil && !known {
		err = r.Skip()
	}
	return err
}

// part is a part of a content. Data, MIMEType, URL and ID are those of the type
// "binary" of clients before 1.0.
type part struct {
	kind, text                   string
	source, value, mimeType, uri string
	data, name                   string
}

func (p *part) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "type":
			return r.String(&p.kind)
		case "text":
			return r.String(&p.text)
		case "source":
			return r.Object(func(name string) error {
				switch name {
				case "type":
					return r.String(&p.source)
				case "value":
					return r.String(&p.value)
				case "mimeType":
					return r.String(&p.mimeType)
				}
				return r.Skip()
			})
		case "mimeType":
			return r.String(&p.mimeType)
		case "data":
			return r.String(&p.data)
		case "url":
			return r.String(&p.uri)
		case "filename":
			return r.String(&p.name)
		}
		return r.Skip()
	})
}

// make returns the part as events have it; nil for a kind that is not known.
func (p *part) make() (*event.Part, error) {
	switch {
	case p.kind == "text":
		return &event.Part{Text: p.text}, nil
	case p.source == "data":
		return face.Data(p.mimeType, p.value, p.name)
	case p.source == "url" || p.source == "file":
		return face.URL(p.value, p.mimeType, p.name)
	case p.kind == "binary" && p.data != "":
		return face.Data(p.mimeType, p.data, p.name)
	case p.kind == "binary" && p.uri != "":
		return face.URL(p.uri, p.mimeType, p.name)
	}
	return nil, nil
}

// text returns the text of a message.
func (m *message) text() string {
	var b strings.Builder
	for _, p := range m.parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// result returns what a tool message says.
func (m *message) result() json.RawMessage {
	if m.failure != "" {
		return append(wire.Quote([]byte(`{"status":"error","error_message":`), m.failure), '}')
	}
	return face.WrapText(m.text())
}

// fresh returns the messages after the last one of an assistant.
func (in *input) fresh() []message {
	for i, m := range slices.Backward(in.messages) {
		switch m.role {
		case "assistant", "reasoning", "activity":
			return in.messages[i+1:]
		}
	}
	return in.messages
}

// history returns the messages before the fresh ones as events, for a session that the
// server does not have. Calls without a result are left out.
func (in *input) history() []*event.Event {
	old := in.messages[:len(in.messages)-len(in.fresh())]
	results := map[string]*message{}
	for i := range old {
		if old[i].role == "tool" {
			results[old[i].call] = &old[i]
		}
	}
	var events []*event.Event
	add := func(id, author, role string, parts []*event.Part) {
		if len(parts) > 0 {
			events = append(events, &event.Event{ID: face.MessageID(id), Author: author, Content: &event.Content{Role: role, Parts: parts}})
		}
	}
	for _, m := range old {
		switch m.role {
		case "user":
			add(m.id, event.User, event.RoleUser, m.parts)
		case "assistant":
			parts := m.parts
			var answers []*event.Part
			for _, call := range m.calls {
				if found := results[call.ID]; found != nil {
					parts = append(parts, &event.Part{FunctionCall: call})
					answers = append(answers, &event.Part{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: found.result()}})
				}
			}
			add(m.id, "assistant", event.RoleModel, parts)
			add("", "assistant", event.RoleUser, answers)
		}
	}
	return events
}
