// Package model defines the interface to language models, which every provider
// implements: requests, responses, and settings of generation.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/parley-run/parley/event"
)

// Model answers requests. Implementations must be safe for concurrent use.
//
// A model may have a method Ready() error, which reports why it cannot be called, for
// example because it has no key. A server prints that when it starts.
type Model interface {
	// Name identifies the model in logs and events.
	Name() string

	// Generate makes one model call. Without req.Stream it yields one complete
	// response. With it, it may first yield partial responses, and must end
	// with one complete response that repeats their text.
	//
	// A refusal or a limit of the model itself is a Response with an ErrorCode:
	// the conversation continues. A failure to reach the model is an error, and
	// ends the sequence; its text reaches the client, so it must not contain
	// secrets.
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
	// Stream requests partial responses.
	Stream bool

	contents []*event.Content
	assemble func() []*event.Content
}

// NewRequest returns a request whose contents are assembled when they are first
// read: a session may be long, and a callback may answer without the model.
func NewRequest(assemble func() []*event.Content) *Request {
	return &Request{assemble: assemble}
}

// Contents returns the conversation so far, oldest first. The slice and the
// contents are shared with later requests of the session and must not be changed. To
// send others, append to the slice and pass the result to SetContents. Contents is not
// safe for concurrent use.
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

// CallIDPrefix begins the ids that Parley assigns to calls. In a request, such an
// id means that the model assigned none, and adapters omit it.
const CallIDPrefix = "parley-"

// Declaration describes a function to the model.
type Declaration struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema of type object
}

// Response is a response of a model, or a part of one.
type Response struct {
	Content *event.Content
	Partial bool // a part: the complete response follows

	// ErrorCode and ErrorMessage describe why the model gave no answer, for example
	// SAFETY or MAX_TOKENS.
	ErrorCode    string
	ErrorMessage string

	FinishReason string
	ModelVersion string
	// Usage of a part is that of the call so far. It counts if the call ends without a
	// complete response.
	Usage       *event.Usage
	Interrupted bool
	// CustomMetadata and Extra become the members of the same names of the event
	// with the response.
	CustomMetadata map[string]json.RawMessage
	Extra          map[string]json.RawMessage
}

// Text returns a complete response with a text.
func Text(text string) *Response {
	return &Response{Content: event.Text(event.RoleModel, text)}
}
