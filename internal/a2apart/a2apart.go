// Package a2apart translates parts of messages between Parley and A2A. Calls,
// responses, code and thoughts are marked in the way of the ADK, so that its servers
// and clients understand them.
package a2apart

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-run/parley/event"
)

// The metadata of parts.
const (
	Type        = "adk_type"
	LongRunning = "adk_is_long_running"
	Thought     = "adk_thought"
)

// The values of Type, each with the member of the part that is the data.
var types = map[string]string{
	"function_call":         "functionCall",
	"function_response":     "functionResponse",
	"executable_code":       "executableCode",
	"code_execution_result": "codeExecutionResult",
}

// Encode returns parts for A2A. longRunning are the ids of calls that wait for an
// answer.
func Encode(parts []*event.Part, longRunning []string) (a2a.ContentParts, error) {
	list := make(a2a.ContentParts, 0, len(parts))
	for _, p := range parts {
		part, err := encode(p, longRunning)
		if err != nil {
			return nil, err
		}
		if part != nil {
			list = append(list, part)
		}
	}
	return list, nil
}

func encode(p *event.Part, longRunning []string) (*a2a.Part, error) {
	switch {
	case p.InlineData != nil:
		part := a2a.NewRawPart(p.InlineData.Data)
		part.MediaType, part.Filename = p.InlineData.MIMEType, p.InlineData.DisplayName
		return part, nil
	case p.FileData != nil:
		part := a2a.NewFileURLPart(a2a.URL(p.FileData.FileURI), p.FileData.MIMEType)
		part.Filename = p.FileData.DisplayName
		return part, nil
	case p.IsText():
		if p.Text == "" {
			return nil, nil // a signature of the model
		}
		part := a2a.NewTextPart(p.Text)
		if p.Thought {
			part.SetMeta(Thought, true)
		}
		return part, nil
	}
	doc, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, err
	}
	for kind, member := range types {
		if members[member] == nil {
			continue
		}
		var data map[string]any
		if err := json.Unmarshal(members[member], &data); err != nil {
			return nil, err
		}
		part := a2a.NewDataPart(data)
		part.SetMeta(Type, kind)
		if p.FunctionCall != nil && slices.Contains(longRunning, p.FunctionCall.ID) {
			part.SetMeta(LongRunning, true)
		}
		return part, nil
	}
	return nil, nil
}

// Decode returns parts of A2A, and the ids of those calls in it that wait for an
// answer. Data without a type becomes text.
func Decode(parts a2a.ContentParts) (list []*event.Part, longRunning []string, err error) {
	for i, part := range parts {
		if part == nil {
			continue
		}
		p, err := decode(part)
		if err != nil {
			return nil, nil, fmt.Errorf("parts[%d]: %w", i, err)
		}
		if waits, _ := part.Metadata[LongRunning].(bool); waits && p.FunctionCall != nil {
			longRunning = append(longRunning, p.FunctionCall.ID)
		}
		list = append(list, p)
	}
	return list, longRunning, nil
}

func decode(part *a2a.Part) (*event.Part, error) {
	switch content := part.Content.(type) {
	case a2a.Text:
		thought, _ := part.Metadata[Thought].(bool)
		return &event.Part{Text: string(content), Thought: thought}, nil
	case a2a.Raw:
		return &event.Part{InlineData: &event.Blob{MIMEType: mediaType(part), Data: content, DisplayName: part.Filename}}, nil
	case a2a.URL:
		return &event.Part{FileData: &event.FileData{MIMEType: mediaType(part), FileURI: string(content), DisplayName: part.Filename}}, nil
	case a2a.Data:
		doc, err := json.Marshal(content.Value)
		if err != nil {
			return nil, err
		}
		kind, _ := part.Metadata[Type].(string)
		member, ok := types[kind]
		if !ok {
			return &event.Part{Text: string(doc)}, nil
		}
		whole, err := json.Marshal(map[string]json.RawMessage{member: doc})
		if err != nil {
			return nil, err
		}
		p := &event.Part{}
		if err := p.UnmarshalJSON(whole); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		return p, nil
	}
	return nil, fmt.Errorf("content of type %T is not supported", part.Content)
}

func mediaType(part *a2a.Part) string {
	if part.MediaType == "" {
		return "application/octet-stream"
	}
	return part.MediaType
}
