package a2a

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"mime"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/wire"
)

// sendRequest is a request to send a message, in either version.
type sendRequest struct {
	Message       *messageIn `json:"message"`
	Request       *messageIn `json:"request"` // of version 0.3 over HTTP+JSON, if the client has the names of gRPC
	Configuration struct {
		ReturnImmediately bool            `json:"returnImmediately"`
		Blocking          *bool           `json:"blocking"` // of version 0.3
		HistoryLength     *int            `json:"historyLength"`
		Push              json.RawMessage `json:"taskPushNotificationConfig"`
		PushOld           json.RawMessage `json:"pushNotificationConfig"` // of version 0.3
		PushProto         json.RawMessage `json:"pushNotification"`       // of version 0.3 over HTTP+JSON
	} `json:"configuration"`
}

// messageIn is a message, in either version.
type messageIn struct {
	ID       string                     `json:"messageId"`
	Context  string                     `json:"contextId"`
	Task     string                     `json:"taskId"`
	Role     string                     `json:"role"`
	Parts    []partIn                   `json:"parts"`
	Content  []partIn                   `json:"content"` // of version 0.3 over HTTP+JSON
	Metadata map[string]json.RawMessage `json:"metadata"`
}

// partIn is a part of a message, in either version.
type partIn struct {
	Text      *string                    `json:"text"`
	Raw       *string                    `json:"raw"`
	URL       *string                    `json:"url"`
	Data      json.RawMessage            `json:"data"`
	Filename  string                     `json:"filename"`
	MediaType string                     `json:"mediaType"`
	Metadata  map[string]json.RawMessage `json:"metadata"`
	File      *struct {
		Bytes *string `json:"bytes"`
		URI   string  `json:"uri"`
		// Over HTTP+JSON.
		FileBytes *string `json:"fileWithBytes"`
		FileURI   string  `json:"fileWithUri"`
		Name      string  `json:"name"`
		MIMEType  string  `json:"mimeType"`
	} `json:"file"` // of version 0.3
}

// incoming is a message that a client sends.
type incoming struct {
	id, context, task string
	parts             []*event.Part
	// values are the data parts that are not of ADK, which may answer a question.
	values   []json.RawMessage
	metadata map[string]json.RawMessage

	immediately bool
	history     *int
	push        *pushConfig // nil for none
}

// decode decodes the parameters of a request.
func decode(doc []byte, into any) error {
	if len(doc) == 0 {
		doc = []byte("{}")
	}
	if !wire.IsKept(doc) {
		return fail(parseError, "The request is not UTF-8, or is nested too deeply")
	}
	err := json.Unmarshal(camel(doc), into)
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(bad.Field, "%s must not be of the type %s", cmp.Or(bad.Field, "The request"), bad.Value)
	}
	return fail(parseError, "The request is not JSON: %v", err)
}

// camel returns an object with the names of its members, and of the message and the
// configuration in it, in camelCase: readers of protocol buffers take both spellings.
// What clients may name as they like is not changed.
func camel(doc []byte) []byte {
	var members map[string]json.RawMessage
	if !bytes.ContainsRune(doc, '_') || json.Unmarshal(doc, &members) != nil || members == nil {
		return doc
	}
	renamed := make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		if name == "message" || name == "request" || name == "configuration" {
			value = camel(value)
		}
		if _, both := members[wire.Camel(name)]; !both || wire.Camel(name) == name {
			renamed[wire.Camel(name)] = value
		}
	}
	out, err := json.Marshal(renamed)
	if err != nil {
		return doc
	}
	return out
}

// readMessage reads a request to send a message.
func readMessage(doc []byte, v version) (*incoming, error) {
	var req sendRequest
	if err := decode(doc, &req); err != nil {
		return nil, err
	}
	if v == p0 {
		if err := req.unwrap(); err != nil {
			return nil, err
		}
	}
	m, c := req.Message, &req.Configuration
	switch {
	case m == nil:
		return nil, invalid("message", "message is missing")
	case m.ID == "":
		return nil, invalid("message.messageId", "message.messageId is missing")
	case m.Role != v1.role(true) && m.Role != v0.role(true):
		return nil, invalid("message.role", "message.role must be that of the user")
	case len(m.Parts) == 0:
		return nil, invalid("message.parts", "message.parts is missing")
	}
	in := &incoming{
		id: m.ID, context: m.Context, task: m.Task, metadata: m.Metadata,
		immediately: c.ReturnImmediately || c.Blocking != nil && !*c.Blocking, history: c.HistoryLength,
	}
	if in.history != nil && *in.history < 0 {
		return nil, invalid("configuration.historyLength", "configuration.historyLength must not be negative")
	}
	for _, doc := range []json.RawMessage{c.Push, c.PushOld} {
		if present(doc) && in.push == nil {
			var err error
			if in.push, err = readPush(doc); err != nil {
				return nil, err
			}
		}
	}
	for i := range m.Parts {
		p, err := in.part(&m.Parts[i])
		if err != nil {
			return nil, err
		}
		in.parts = append(in.parts, p)
	}
	return in, nil
}

func present(doc json.RawMessage) bool { return len(doc) > 0 && string(doc) != "null" }

// part returns a part as the log has it.
func (in *incoming) part(p *partIn) (*event.Part, error) {
	if f := p.File; f != nil {
		p.MediaType, p.Filename, p.Raw = f.MIMEType, f.Name, f.Bytes
		if f.Bytes == nil {
			p.URL = &f.URI
		}
	}
	if err := checkMedia(p.MediaType); err != nil {
		return nil, err
	}
	const field = "message.parts"
	switch {
	case p.Text != nil:
		return &event.Part{Text: *p.Text}, nil
	case p.Raw != nil:
		part, err := face.Data(p.MediaType, *p.Raw, p.Filename)
		if err != nil {
			return nil, invalid(field, "a part of the message %v", err)
		}
		return part, nil
	case p.URL != nil && *p.URL != "":
		part, err := face.URL(*p.URL, p.MediaType, p.Filename)
		if err != nil {
			return nil, invalid(field, "a part of the message %v", err)
		}
		return part, nil
	case p.Data != nil:
		return in.data(p)
	}
	return nil, invalid(field, "a part of the message has neither text, raw, url nor data")
}

// data returns a part with data: the answer to a call if it is one, otherwise its
// text, which models can read.
func (in *incoming) data(p *partIn) (*event.Part, error) {
	var kind string
	_ = json.Unmarshal(p.Metadata["adk_type"], &kind) // of another client, it is not a text
	if kind == "function_response" {
		var r struct {
			ID       string          `json:"id"`
			Name     string          `json:"name"`
			Response json.RawMessage `json:"response"`
		}
		if err := json.Unmarshal(p.Data, &r); err != nil || r.ID == "" {
			return nil, invalid("message.parts", "a function_response needs the id of its call")
		}
		return &event.Part{FunctionResponse: &event.FunctionResponse{ID: r.ID, Name: r.Name, Response: face.Wrap(r.Response)}}, nil
	}
	if kind == "" {
		in.values = append(in.values, p.Data)
	}
	return &event.Part{Text: string(p.Data)}, nil
}

// inputModes are the media types that the card lists.
var inputModes = []string{"text/plain", jsonType, "image/*", "audio/*", "video/*", "application/pdf"}

// checkMedia refuses what is not a media type. Which of them an agent can read depends on
// its model and its tools.
func checkMedia(media string) error {
	if media == "" {
		return nil
	}
	if name, _, err := mime.ParseMediaType(media); err != nil || !strings.Contains(name, "/") {
		return fail(contentNotSupported, "%q is not a media type", media)
	}
	return nil
}
