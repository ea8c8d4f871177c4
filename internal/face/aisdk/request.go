package aisdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// request is what a client sends.
type request struct {
	ID       string    `json:"id"`
	Messages []message `json:"messages"`
	Trigger  string    `json:"trigger"`
	// MessageID is the message that the trigger is about.
	MessageID string `json:"messageId"`
	// Tools are those of the client. Answers are the answers to data parts, by their
	// ids. Both are in the body option of the transport or of the call.
	Tools   tools                      `json:"tools"`
	Answers map[string]json.RawMessage `json:"answers"`
}

// The triggers.
const (
	submit     = "submit-message"
	regenerate = "regenerate-message"
)

// message is a UIMessage.
type message struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// part is a part of a UIMessage.
type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	MediaType string          `json:"mediaType"`
	Filename  string          `json:"filename"`
	URL       string          `json:"url"`
	CallID    string          `json:"toolCallId"`
	State     string          `json:"state"`
	Output    json.RawMessage `json:"output"`
	ErrorText string          `json:"errorText"`
	Approval  *struct {
		ID       string `json:"id"`
		Approved bool   `json:"approved"`
		Reason   string `json:"reason"`
	} `json:"approval"`
}

// The states of parts of tools that have an answer.
const (
	responded   = "approval-responded"
	available   = "output-available"
	outputError = "output-error"
)

// tools are the tools of a client: an object with one for each name, as assistant-ui
// sends them, or a list.
type tools []tool.Declaration

// UnmarshalJSON implements json.Unmarshaler.
func (t *tools) UnmarshalJSON(doc []byte) error {
	type declared struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	*t = nil
	var list []declared
	if doc = bytes.TrimSpace(doc); len(doc) > 0 && doc[0] == '[' {
		if err := json.Unmarshal(doc, &list); err != nil {
			return err
		}
	} else {
		var named map[string]declared
		if err := json.Unmarshal(doc, &named); err != nil {
			return err
		}
		for name, one := range named {
			one.Name = name
			list = append(list, one)
		}
		slices.SortFunc(list, func(a, b declared) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, one := range list {
		parameters := one.Parameters
		if len(parameters) == 0 {
			parameters = one.InputSchema
		}
		if string(parameters) == "null" {
			parameters = nil
		}
		*t = append(*t, tool.Declaration{Name: one.Name, Description: one.Description, Parameters: parameters})
	}
	return nil
}

// decode reads a request. Its errors are for the client.
func decode(doc []byte) (*request, error) {
	in := &request{}
	if err := json.Unmarshal(doc, in); err != nil {
		if at, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && at.Field != "" {
			return nil, &wire.Error{Type: "type_error", Path: []any{at.Field}, Msg: "The value must not be of type " + at.Value}
		}
		return nil, &wire.Error{Type: "json_invalid", Msg: "The body must be a JSON object with the id of a chat and its messages"}
	}
	switch {
	case in.ID == "":
		return nil, wire.Missing("id")
	case len(in.Messages) == 0:
		return nil, wire.Missing("messages")
	case in.Trigger == "":
		in.Trigger = submit
	case in.Trigger != submit && in.Trigger != regenerate:
		return nil, &wire.Error{Type: "value_error", Path: []any{"trigger"}, Msg: "The trigger must be " + submit + " or " + regenerate}
	}
	return in, nil
}

// last returns the last message.
func (in *request) last() *message { return &in.Messages[len(in.Messages)-1] }

// answers reports whether the client answers questions, or calls of its tools, instead
// of sending a message.
func (in *request) answers() bool {
	return in.Trigger == submit && (in.last().Role == roleAssistant || len(in.Answers) > 0)
}

// decides reports whether the client has decided about calls.
func (in *request) decides() bool {
	return slices.ContainsFunc(in.Messages, func(m message) bool {
		return m.Role == roleAssistant && slices.ContainsFunc(m.Parts, func(p part) bool { return p.State == responded && p.Approval != nil })
	})
}

// continued returns the assistant message to which the client adds what it receives;
// nil if that is a new one.
func (in *request) continued() *message {
	if !in.answers() {
		return nil
	}
	if i := slices.IndexFunc(in.Messages, func(m message) bool { return m.ID == in.MessageID }); i >= 0 && in.Messages[i].Role == roleAssistant {
		return &in.Messages[i]
	}
	if in.last().Role == roleAssistant {
		return in.last()
	}
	return nil
}

// content returns a message of the user, or the texts of one of the agent.
func (m *message) content(index int) (*event.Content, error) {
	c := &event.Content{Role: event.RoleUser}
	if m.Role == roleAssistant {
		c.Role = event.RoleModel
	}
	for i, p := range m.Parts {
		switch {
		case p.Type == "text" && p.Text != "":
			c.Parts = append(c.Parts, &event.Part{Text: p.Text})
		case p.Type == "file" && m.Role == roleUser:
			file, err := face.URL(p.URL, p.MediaType, p.Filename)
			if err != nil {
				return nil, &wire.Error{Type: "value_error", Path: []any{"messages", index, "parts", i, "url"}, Msg: "The address of the file " + err.Error()}
			}
			c.Parts = append(c.Parts, file)
		}
	}
	return c, nil
}
