// Package agentrt is the part of package agent that only the server uses: how to
// run a tree of agents, how to continue a run in another process, and how to
// observe it. Authors of agents need none of it, so it is not exported from
// package agent.
//
// Package agent implements the functions that take an Agent. It imports this
// package and registers itself, since an import in the other direction would be
// a cycle.
package agentrt

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// Agent is a *agent.Agent. There is no other implementation.
type Agent interface {
	Name() string
	Description() string
}

// Log is the session as the agents of a run see it: its events and its state. It
// grows with what the run emits. It is safe for concurrent use.
type Log interface {
	tool.Lookup
	// Len is the number of events.
	Len() int
	// At returns the event at index i; 0 is the oldest. It must not be changed.
	At(i int) *event.Event
}

// Journal holds the notes of a run that are not in the log. A process that
// continues the run reads them. It is safe for concurrent use.
type Journal interface {
	// Get returns the latest note of that name, if there is one.
	Get(name string) ([]byte, bool)
	// Put makes a note; nil removes it. It is stored together with the next
	// event that is emitted, so it costs no write of its own.
	Put(name string, value []byte)
	// Flush stores the notes now.
	Flush() error
}

// Credentials gives access to the logins of a user.
type Credentials interface {
	tool.Credentials
	// Bind sets the id of the call that asks the user.
	Bind(ctx context.Context, requestID string, asked *credential.Config) error
}

// Invocation is one run of a tree of agents.
type Invocation struct {
	App, User, Session string
	ID                 string
	UserContent        *event.Content
	// Tools are those of the client. Agents that are used as tools have none of them.
	Tools []tool.Declaration
	// Stream asks models for partial responses.
	Stream bool
	Log    Log
	// MaxModelCalls ends a run that does not end by itself; 0 means no limit.
	MaxModelCalls int64
	// Budget is called before each model call. It returns why the run may not
	// make another one, or nil. It may be nil.
	Budget func() *Failure
	// Unseen receives the usage of model calls whose responses are not emitted:
	// those of agents that are used as tools, refusals that a plugin replaced, and
	// calls that were stopped or have failed. version is the ModelVersion of the response. It may be nil.
	Unseen func(version string, usage *event.Usage)
	// Call is made instead of asking a model; nil for a run that answers the message.
	Call *ToolCall
	// Resume says where to continue; nil for a new message.
	Resume *Resume
	// Takeover means that another process began the run and died. Log holds the
	// events of the run so far, by its ID, from the user's message on.
	Takeover bool
	// Journal is the run's; nil if no other process can continue the run.
	Journal Journal
	// Credentials are those of the user; nil if there are none.
	Credentials Credentials
	// Models resolves the names of model.Named models; nil for none, and in an agent
	// that is used as a tool, for that of the run.
	Models func(name string) (model.Model, error)
	// CredentialCall is the name of the call that asks the user to log in;
	// empty for tool.CredentialCall.
	CredentialCall string
	// Artifacts are the files of the session and of its user; nil if they are
	// not supported.
	Artifacts tool.Artifacts
	// Memory searches earlier sessions; nil if it is not supported.
	Memory tool.Memory
	// Secrets removes from events the secrets that tools receive; nil if there
	// are none.
	Secrets Secrets
	// Observer receives the steps of the agents; nil disables it.
	Observer Observer
	// Edges makes the calls of models and tools; nil if they are made directly.
	Edges Edges
}

// ToolCall is a call of one tool of one agent, and all that a run does.
type ToolCall struct {
	Agent, Tool string
	Args        json.RawMessage
}

// Offer is what an agent can call.
type Offer struct {
	Agent string
	Tools []OfferedTool
	// Problems are why toolsets do not tell their tools.
	Problems []string
}

// OfferedTool is a tool of an agent.
type OfferedTool struct {
	tool.Declaration
	// Toolset is the name of the toolset that has the tool; empty for a tool of the
	// agent itself.
	Toolset string
	// AsksFirst means that every call has to be confirmed.
	AsksFirst bool
}

// Offers lists the tools of the agents in the tree below root, parents first. Toolsets
// that have not answered when ctx is done are a problem of their agent.
func (inv *Invocation) Offers(ctx context.Context, root Agent) []Offer {
	return engine.Offers(ctx, inv, root)
}

// Start runs the tree below root. It begins in the agent that waited for an
// answer, or in the one that the conversation was last transferred to, or in
// root. A run that is taken over repeats the events of the log first.
func (inv *Invocation) Start(ctx context.Context, root Agent, emit func(*event.Event) error) error {
	return engine.Start(ctx, inv, root, emit)
}

// Receive passes a new message to the plugins of the tree. It returns the
// message to store in its place, and the changes of the state to store with it.
func (inv *Invocation) Receive(ctx context.Context, root Agent) (*event.Content, *event.Actions, error) {
	return engine.Receive(ctx, inv, root)
}

// ReceivesMessages reports whether Invocation.Receive calls a plugin of the tree.
func ReceivesMessages(root Agent) bool { return engine.ReceivesMessages(root) }

// CredentialCall returns the name that agent.WithCredentialCall has chosen for
// the tree; empty if it has not.
func CredentialCall(root Agent) string { return engine.CredentialCall(root) }

// OnlyModels reports whether all agents of the tree are led by models, or run others
// in a fixed order, so that only a call of a model or of a tool can follow an event,
// and a call of a tool only one with a function call.
func OnlyModels(root Agent) bool { return engine.OnlyModels(root) }

// The kinds of agents, by the names that the SDKs give them.
const (
	KindLLM        = "LlmAgent"
	KindSequential = "SequentialAgent"
	KindParallel   = "ParallelAgent"
	KindLoop       = "LoopAgent"
	KindRouted     = "RoutedAgent"
	KindCustom     = "BaseAgent"
	KindWorkflow   = "Workflow"
	KindRemote     = "RemoteA2AAgent"
)

// Info describes an agent that is driven by a model.
type Info struct {
	Model       string
	Instruction string
	Tools       []tool.Declaration
}

// InfoOf describes an agent; ok is false if no model drives it.
func InfoOf(a Agent) (info Info, ok bool) { return engine.Info(a) }

// Models iterates over the agents of the tree that a model drives, each with its model:
// its own, or that of the nearest agent above it. Agents without one are left out.
func Models(root Agent) iter.Seq2[Agent, model.Model] { return engine.Models(root) }

// ModelConfig returns the settings for the model of an agent, nil for none.
func ModelConfig(a Agent) *model.Config { return engine.ModelConfig(a) }

// InputSchema returns the schema of what the agent takes in place of a message; nil for
// none.
func InputSchema(root Agent) json.RawMessage { return engine.InputSchema(root) }

// IsReserved reports whether only the server asks users with a call of that name.
// A tool cannot have such a name.
func IsReserved(call string) bool { return engine.IsReserved(call) }

// Engine is what package agent implements.
type Engine interface {
	Start(ctx context.Context, inv *Invocation, root Agent, emit func(*event.Event) error) error
	Offers(ctx context.Context, inv *Invocation, root Agent) []Offer
	Receive(ctx context.Context, inv *Invocation, root Agent) (*event.Content, *event.Actions, error)
	ReceivesMessages(root Agent) bool
	CredentialCall(root Agent) string
	OnlyModels(root Agent) bool
	Models(root Agent) iter.Seq2[Agent, model.Model]
	ModelConfig(a Agent) *model.Config
	Info(a Agent) (info Info, ok bool)
	InputSchema(root Agent) json.RawMessage
	IsReserved(call string) bool
}

var engine Engine

// Register sets the implementation. Package agent calls it when it is
// initialized.
func Register(e Engine) { engine = e }

// Key is the key under which contexts of agents return their *Invocation.
type Key struct{}

// From returns the run that ctx is part of, nil if it is not the context of an
// agent, a tool or a callback.
func From(ctx context.Context) *Invocation {
	inv, _ := ctx.Value(Key{}).(*Invocation)
	return inv
}

// Resume names the agent that waited for the answer which starts a run, and the
// run in which it began to wait.
type Resume struct {
	Agent, InvocationID string
	// Others waited in parallel branches of the same run, for answers that came
	// together with the first.
	Others []string
}

// Names reports whether the agent of that name is one of those that waited.
func (r *Resume) Names(name string) bool { return r.Agent == name || slices.Contains(r.Others, name) }
