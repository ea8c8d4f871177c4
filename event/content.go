package event

import (
	"encoding/json"
	"slices"
	"strings"
)

// Roles of a Content.
const (
	RoleUser  = "user"
	RoleModel = "model"
)

// Content is one message: its role and its parts.
type Content struct {
	Role  string
	Parts []*Part
}

// Part is a part of a message. Exactly one payload is set; if none of the
// pointers is, the payload is Text.
type Part struct {
	Text                string
	FunctionCall        *FunctionCall
	FunctionResponse    *FunctionResponse
	InlineData          *Blob
	FileData            *FileData
	ExecutableCode      *ExecutableCode
	CodeExecutionResult *CodeExecutionResult

	// Thought marks reasoning that is not part of the answer.
	Thought bool
	// ThoughtSignature belongs to the model, which gets it back unchanged.
	ThoughtSignature []byte

	// Extra is like Event.Extra, with audioTranscription, mediaResolution,
	// partMetadata, toolCall, toolResponse and videoMetadata.
	Extra map[string]json.RawMessage
}

// FunctionCall is a request of a model to call a tool.
type FunctionCall struct {
	ID   string
	Name string
	Args json.RawMessage // an object
}

// FunctionResponse is the response to the call with the same ID.
type FunctionResponse struct {
	ID       string
	Name     string
	Response json.RawMessage // an object
	// WillContinue marks an interim response: another one follows.
	WillContinue bool
}

// Interim reports whether another response follows: by WillContinue, or by the
// convention of {"status": "pending"} and {"pending": true}.
func (f *FunctionResponse) Interim() bool {
	if f.WillContinue {
		return true
	}
	var said struct {
		Status  any `json:"status"`
		Pending any `json:"pending"`
	}
	if json.Unmarshal(f.Response, &said) != nil {
		return false
	}
	return said.Status == "pending" || said.Pending == true
}

// Blob is data inside of the message.
type Blob struct {
	MIMEType    string
	Data        []byte
	DisplayName string
}

// FileData is a reference to data elsewhere.
type FileData struct {
	MIMEType    string
	FileURI     string
	DisplayName string
}

// ExecutableCode is code that the agent or the provider of the model runs.
type ExecutableCode struct {
	ID       string
	Code     string
	Language string
}

// CodeExecutionResult is the result of ExecutableCode.
type CodeExecutionResult struct {
	ID      string
	Outcome string
	Output  string
}

// Text returns a message with one text part.
func Text(role, text string) *Content {
	return &Content{Role: role, Parts: []*Part{{Text: text}}}
}

// IsText reports whether the payload is text, which may be a thought.
func (p *Part) IsText() bool {
	return p.FunctionCall == nil && p.FunctionResponse == nil && p.InlineData == nil && p.FileData == nil &&
		p.ExecutableCode == nil && p.CodeExecutionResult == nil &&
		p.Extra["toolCall"] == nil && p.Extra["toolResponse"] == nil
}

// Text returns the texts of the message, without thoughts. It may be called on
// nil.
func (c *Content) Text() string {
	if c == nil {
		return ""
	}
	if len(c.Parts) == 1 && c.Parts[0].IsText() && !c.Parts[0].Thought {
		return c.Parts[0].Text
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if p.IsText() && !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// FunctionCalls returns the calls in the message, in order.
func (c *Content) FunctionCalls() []*FunctionCall {
	var calls []*FunctionCall
	for _, p := range c.Parts {
		if p.FunctionCall != nil {
			calls = append(calls, p.FunctionCall)
		}
	}
	return calls
}

// FunctionResponses returns the responses in the message, in order.
func (c *Content) FunctionResponses() []*FunctionResponse {
	var responses []*FunctionResponse
	for _, p := range c.Parts {
		if p.FunctionResponse != nil {
			responses = append(responses, p.FunctionResponse)
		}
	}
	return responses
}

func (c *Content) hasCalls() bool {
	return c != nil && slices.ContainsFunc(c.Parts, func(p *Part) bool { return p.FunctionCall != nil })
}

// isAnswer reports whether the message is a plain answer of the model: text, and
// neither calls nor responses.
func (c *Content) isAnswer() bool {
	if c == nil || c.Role != RoleModel {
		return false
	}
	text := false
	for _, p := range c.Parts {
		if p.FunctionCall != nil || p.FunctionResponse != nil {
			return false
		}
		text = text || p.IsText()
	}
	return text
}
