package agentrt

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// Edges makes the calls of models and tools for the agents of a run. It may record
// them, change them, or answer them itself. It must be safe for concurrent use.
//
// Tools that only change how the run continues, such as a transfer, are not called
// through it. Neither are agents that are used as tools, but the calls of these are.
type Edges interface {
	// Ask calls a model, and yields what it answers until yield returns false.
	Ask(ctx context.Context, at Place, m model.Model, req *model.Request, yield func(*model.Response, error) bool)
	// Call calls a tool, which may change tc.Actions.
	Call(tc *tool.Context, at Place, t tool.Tool, args json.RawMessage) (any, error)
	// Listed returns all tools that the agent offered in the run that is repeated, in
	// their order. ok is false if toolsets are to be asked.
	Listed(at Place) (tools []tool.Tool, ok bool)
}

// Recalling are Edges that answer calls of models with what they answered earlier.
type Recalling interface {
	// Recalled reports whether a response that Ask has yielded is such an answer. It
	// must be called once for each answer of Ask.
	Recalled(resp *model.Response) bool
}

// Names of calls that are made like those of tools: CodeCall executes the code that a
// model has written, RemoteCall sends a message to an agent of another server.
const (
	CodeCall   = "execute_code"
	RemoteCall = "remote_agent"
)

// Unnamed is what is called like a tool, and is not one that a model can name: an
// execution of code, or an agent of another server.
type Unnamed interface {
	tool.Tool
	Unnamed()
}

// RemoteTask and RemoteConversation are the members of customMetadata that say which task
// and which conversation an event of a remote agent is from. RemoteFailed is the error
// code of the event with which one fails.
const (
	RemoteTask         = "a2a:task_id"
	RemoteConversation = "a2a:context_id"
	RemoteFailed       = "REMOTE_AGENT"
)

// Place says which agent makes a call.
type Place struct {
	Agent, Branch string
	// Direct means that no code of the application is between the answer of a model
	// and the event with it.
	Direct bool
}

// Ask calls a model for code that runs in a run. Outside of one it calls it directly.
func Ask(ctx context.Context, at Place, m model.Model, req *model.Request) iter.Seq2[*model.Response, error] {
	if inv := From(ctx); inv != nil && inv.Edges != nil {
		return func(yield func(*model.Response, error) bool) { inv.Edges.Ask(ctx, at, m, req, yield) }
	}
	return m.Generate(ctx, req)
}
