// Package model is the edge to language models: what an agent asks, what comes
// back, and the one interface that every provider implements.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/parley-run/parley/event"
)

// Model answers requests. Implementations must be safe for concurrent use.
type Model interface {
	// Name identifies the model in logs and events.
	Name() string

	// Generate runs one model call. Without req.Stream it yields one complete
	// response. With it, it may first yield pieces (Partial) and must end with
	// one complete response that repeats all of their text.
	//
	// A refusal or a limit of the model itself is a Response with an
	// ErrorCode: the conversation goes on around it. A failure to reach the
	// model is an error, and ends the sequence; its text reaches the client,
	// so it must not hold secrets.
	//
	// Generate stops soon after ctx is done.
	Generate(ctx context.Context, req *Request) iter.Seq2[*Response, error]
}

// Request is one model call.
type Request struct {
	// Instruction is the system instruction.
	Instruction string
	// Tools are the functions that the model may call.
	Tools []Declaration
	// Config are the generation settings, nil for the model's defaults.
	Config *Config
	// Stream asks for pieces as they are made.
	Stream bool

	contents []*event.Content
	assemble func() []*event.Content
}

// NewRequest is a request about a conversation that is put together only when
// somebody looks at it: a session may be long, and a callback may answer
// without the model.
func NewRequest(assemble func() []*event.Content) *Request {
	return &Request{assemble: assemble}
}

// Contents is the conversation so far, oldest first. The contents are shared
// with the session's log and must not be changed; to send others, SetContents.
func (r *Request) Contents() []*event.Content {
	if r.assemble != nil {
		r.contents, r.assemble = r.assemble(), nil
	}
	return r.contents
}

// SetContents replaces the conversation.
func (r *Request) SetContents(contents []*event.Content) {
	r.contents, r.assemble = contents, nil
}

// CallIDPrefix starts the ids that Parley gives to calls. In a request such an id
// means that the model had given none, and adapters leave it out. Ids that the
// model gave are in requests as it gave them.
const CallIDPrefix = "parley-"

// Declaration tells the model of a function.
type Declaration struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema of type object
}

// Response is an answer, or a piece of one.
type Response struct {
	Content *event.Content
	Partial bool

	// ErrorCode and ErrorMessage say why the model gave no answer, for example
	// SAFETY or MAX_TOKENS.
	ErrorCode    string
	ErrorMessage string

	FinishReason string
	ModelVersion string
	Usage        *event.Usage
	Interrupted  bool
	// CustomMetadata and Extra become the members of the same names of the
	// event that carries the response.
	CustomMetadata map[string]json.RawMessage
	Extra          map[string]json.RawMessage
}

// Text is a complete response that says text.
func Text(text string) *Response {
	return &Response{Content: event.Text(event.RoleModel, text)}
}
