package agentrt

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// Observer receives the steps of the agents of a run, for traces and metrics. It
// must be safe for concurrent use, and must not block.
type Observer interface {
	// Detailed reports whether steps have their Input, Origins and Output. These
	// do not contain secrets of the run.
	Detailed() bool
	// Wants reports whether the observer receives steps of that kind.
	Wants(kind StepKind) bool
	// Begin is called when a step begins. It returns the context of the step.
	Begin(ctx context.Context, s *Step) context.Context
	// Done is called when a step has ended.
	Done(s *Step)
	// Close is called when the step's event is known. The observer must not use
	// the Step after it: it is reused.
	Close(s *Step)
}

// StepKind is the kind of a step.
type StepKind int

// The kinds of steps: an agent runs, a model is called, a tool is called.
const (
	StepAgent StepKind = iota
	StepModel
	StepTool
)

// Step is one action of an agent.
type Step struct {
	Kind                     StepKind
	App, Session, Invocation string
	Agent                    Agent

	// Model is the name of the model, in a step of StepModel.
	Model string
	// Tool is called with CallID, in a step of StepTool.
	Tool   tool.Tool
	CallID string

	// Input is the request to the model, or the arguments of the tool, in JSON;
	// Origins says where the parts of a request come from. Output is the response
	// or the result. They are nil unless Observer.Detailed.
	Input, Origins, Output json.RawMessage

	Began, Ended time.Time
	// First is when the first piece of a response came; zero without pieces.
	First time.Time
	// Retries is how often the call of a model was repeated; nil if it is not counted.
	Retries *atomic.Int64
	// Response is that of the model, before callbacks change it. Recorded means that it
	// is that of an earlier run, and that no model was called.
	Response *model.Response
	Recorded bool
	// ErrorType and Error describe a failure, if there was one. Waiting means
	// that there was none, but that the step needs an answer from outside.
	ErrorType, Error string
	Waiting          bool
	// Event is the id of the event that contains the outcome of the step.
	Event string

	// Note belongs to the observer.
	Note any
}
