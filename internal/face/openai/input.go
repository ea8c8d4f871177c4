package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// item is an input: a message, a call, its output, or an answer to a question.
// Messages of chat completions become items, too.
type item struct {
	kind, role string
	parts      []*event.Part
	call, name string // of a call or an output
	arguments  string
	value      json.RawMessage // of an answer
	calls      []*item         // of a message of chat completions
	output     *item           // of a call that the server has made
}

// The types of items.
const (
	messageType  = "message"
	callType     = "function_call"
	outputType   = "function_call_output"
	answerType   = "parley:answer"
	toolType     = "parley:tool_call"
	questionType = "parley:question"
)

// readItems reads the input of a response: a text, or a list.
func readItems(r *wire.Reader, into *[]*item) error {
	if r.Kind() == '"' {
		var text string
		err := r.String(&text)
		*into = append(*into, &item{kind: messageType, role: event.User, parts: []*event.Part{{Text: text}}})
		return err
	}
	return r.Array(func() error {
		one := &item{}
		if err := one.read(r); err != nil {
			return err
		}
		*into = append(*into, one)
		return one.check(r)
	})
}

func (it *item) read(r *wire.Reader) error {
	decision := map[string]json.RawMessage{}
	err := r.Object(func(name string) error {
		switch name {
		case "type":
			return r.String(&it.kind)
		case "role":
			return r.String(&it.role)
		case "content":
			return readContent(r, &it.parts)
		case "callId", "toolCallId":
			return r.ID(&it.call)
		case "name":
			return r.String(&it.name)
		case "arguments":
			return r.String(&it.arguments)
		case "output":
			it.output = &item{}
			return readContent(r, &it.output.parts)
		case "value":
			return r.Raw(&it.value)
		case "approved", "payload", "editedArgs", "reason", "authResponseUri":
			var v json.RawMessage
			err := r.Raw(&v)
			decision[name] = v
			return err
		case "toolCalls":
			return r.Array(func() error {
				call := &item{kind: callType}
				it.calls = append(it.calls, call)
				return call.readChat(r)
			})
		}
		return r.Skip()
	})
	if err == nil && len(decision) > 0 && it.value == nil {
		it.value, err = json.Marshal(decision)
	}
	return err
}

// check completes an item of a response, and refuses what the server cannot read.
func (it *item) check(r *wire.Reader) error {
	if it.kind == "" && it.role != "" {
		it.kind = messageType
	}
	switch it.kind {
	case messageType:
		switch it.role {
		case "user", "system", "developer", "assistant":
			return nil
		}
		return r.Errorf("value_error", "The role of a message must be user, system, developer or assistant")
	case outputType, answerType:
		if it.call == "" {
			return r.Errorf("missing", "An item of the type %s needs a call_id", it.kind)
		}
		if it.output != nil {
			it.parts = it.output.parts
		}
	case callType:
		if it.call == "" || it.name == "" {
			return r.Errorf("missing", "An item of the type %s needs a call_id and a name", it.kind)
		}
	case "reasoning", toolType, questionType:
	default:
		if !strings.HasPrefix(it.kind, "parley:") {
			return r.Errorf("value_error", "Items of the type %q are not supported", it.kind)
		}
	}
	return nil
}

// readChat reads a tool call of a message of chat completions.
func (it *item) readChat(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "id":
			return r.ID(&it.call)
		case "function":
			return r.Object(func(name string) error {
				switch name {
				case "name":
					return r.String(&it.name)
				case "arguments":
					return r.String(&it.arguments)
				}
				return r.Skip()
			})
		}
		return r.Skip()
	})
}

// readContent reads a text, or a list of parts.
func readContent(r *wire.Reader, into *[]*event.Part) error {
	known, err := face.ReadContent(r, into, func() (*event.Part, error) {
		p := part{}
		if err := p.read(r); err != nil {
			return nil, err
		}
		made, err := p.make()
		if err != nil {
			return nil, r.Errorf("value_error", "The content %v", err)
		}
		if made == nil {
			return nil, r.Errorf("value_error", "Contents of the type %q, without their data, are not supported", p.kind)
		}
		return made, nil
	})
	if err == nil && !known {
		err = r.Errorf("value_error", "A content must be a text, or a list of parts")
	}
	return err
}

// part is a part of a content, of a response or of a chat completion.
type part struct {
	kind, text, url, data, name, format string
}

func (p *part) read(r *wire.Reader) error {
	return r.Object(func(name string) error {
		switch name {
		case "type":
			return r.String(&p.kind)
		case "text", "refusal":
			return r.String(&p.text)
		case "imageUrl", "fileUrl", "url":
			if r.Kind() == '{' {
				return p.read(r)
			}
			return r.String(&p.url)
		case "file", "inputAudio":
			return p.read(r)
		case "fileData", "data":
			return r.String(&p.data)
		case "filename":
			return r.String(&p.name)
		case "format":
			return r.String(&p.format)
		}
		return r.Skip()
	})
}

// make returns the part as events have it; nil if it has nothing that is known.
func (p *part) make() (*event.Part, error) {
	switch {
	case strings.HasPrefix(p.data, "data:"):
		return face.URL(p.data, "", p.name)
	case p.data != "":
		return face.Data(p.mimeType(), p.data, p.name)
	case p.url != "" && strings.Contains(p.kind, "image"):
		return face.URL(p.url, "image/*", p.name)
	case p.url != "":
		return face.URL(p.url, "", p.name)
	}
	switch p.kind {
	case "text", "input_text", "output_text", "refusal", "summary_text":
		return &event.Part{Text: p.text}, nil
	}
	return nil, nil
}

// mimeType returns the type of data that is not a data URL.
func (p *part) mimeType() string {
	switch {
	case p.format != "":
		return "audio/" + p.format
	case strings.HasSuffix(strings.ToLower(p.name), ".pdf"):
		return "application/pdf"
	}
	return ""
}

// text returns the text of an item.
func (it *item) text() string {
	var b strings.Builder
	for _, p := range it.parts {
		if p.IsText() {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// reply returns the value with which an item answers a question.
func (it *item) reply() json.RawMessage {
	if it.value != nil {
		return it.value
	}
	text := it.text()
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return wire.Quote(nil, text)
}

// spoken reports whether the client has the item from the model.
func (it *item) spoken() bool {
	switch it.kind {
	case messageType:
		return it.role == "assistant"
	case outputType, answerType:
		return false
	}
	return true
}

// split returns the items up to the last one of the model, and those after it.
func split(items []*item) (history, fresh []*item) {
	for i, it := range slices.Backward(items) {
		if it.spoken() {
			return items[:i+1], items[i+1:]
		}
	}
	return nil, items
}

// past returns the events of a history, and the ids of the calls in it that fresh
// answers. Other calls without an output are left out, and so are thoughts and
// questions. root is the author of its messages.
func past(history, fresh []*item, root string) (events []*event.Event, open []string) {
	outputs := map[string]*item{}
	for _, it := range history {
		if it.kind == outputType {
			outputs[it.call] = it
		}
	}
	answers := map[string]bool{}
	for _, it := range fresh {
		if it.kind == outputType {
			answers[it.call] = true
		}
	}
	add := func(author, role string, parts ...*event.Part) {
		if len(parts) > 0 {
			events = append(events, &event.Event{Author: author, Content: &event.Content{Role: role, Parts: parts}})
		}
	}
	for i := 0; i < len(history); i++ {
		it := history[i]
		switch {
		case it.kind == messageType && it.role == "assistant":
			add(root, event.RoleModel, it.parts...)
		case it.kind == messageType:
			add(event.User, event.RoleUser, it.parts...)
		case it.kind == callType || it.kind == toolType:
			var calls, results []*event.Part
			for ; i < len(history) && (history[i].kind == callType || history[i].kind == toolType); i++ {
				one := history[i]
				output := outputs[one.call]
				if one.kind == toolType {
					output = one.output
				}
				if output == nil && !answers[one.call] || one.name == "" {
					continue
				}
				calls = append(calls, &event.Part{FunctionCall: &event.FunctionCall{ID: one.call, Name: one.name, Args: face.WrapText(one.arguments)}})
				if output == nil {
					open = append(open, one.call)
					continue
				}
				results = append(results, &event.Part{FunctionResponse: &event.FunctionResponse{ID: one.call, Name: one.name, Response: face.WrapText(output.text())}})
			}
			i--
			add(root, event.RoleModel, calls...)
			add(root, event.RoleUser, results...)
		}
	}
	return events, open
}

// readTool reads a tool of the caller, and the same as responses repeat it.
func readTool(r *wire.Reader, d *tool.Declaration) (json.RawMessage, error) {
	kind, strict := "", json.RawMessage("null")
	var member func(name string) error
	member = func(name string) error {
		switch name {
		case "type":
			return r.String(&kind)
		case "function": // of chat completions
			return r.Object(member)
		case "name":
			return r.String(&d.Name)
		case "description":
			return r.String(&d.Description)
		case "parameters":
			return r.Raw(&d.Parameters)
		case "strict":
			return r.Raw(&strict)
		}
		return r.Skip()
	}
	if err := r.Object(member); err != nil {
		return nil, err
	}
	if kind != "function" {
		return nil, r.Errorf("value_error", "Tools of the type %q are not supported: give them to the agent. Your own have the type function", kind)
	}
	doc := wire.Quote([]byte(`{"type":"function","name":`), d.Name)
	doc = orNull(append(doc, `,"description":`...), d.Description)
	doc = append(doc, `,"parameters":`...)
	if len(d.Parameters) == 0 {
		doc = append(doc, "null"...)
	}
	doc = append(append(append(doc, d.Parameters...), `,"strict":`...), strict...)
	return append(doc, '}'), nil
}
