package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/tool"
)

// Node is a node of a workflow: a function, an agent, a tool, a join, or a
// worker for lists. A node does not change, and any number of runs may use it at
// the same time.
type Node struct {
	def  workflowrt.Node
	kind Kind
	cfg  NodeConfig
}

// newNode returns a node with the settings of cfg.
func newNode(kind Kind, cfg NodeConfig, def workflowrt.Node) *Node {
	def.Again = cfg.Retry.again
	def.Timeout, def.RerunOnResume, def.WaitForOutput, def.Effect = cfg.Timeout, cfg.RerunOnResume, cfg.WaitForOutput, cfg.Effect
	def.Auth, def.IsolationScope, def.History = cfg.Auth, cfg.IsolationScope, cfg.History
	if cfg.Check != nil {
		def.Check = func(ctx *tool.Context, data string, value json.RawMessage) (json.RawMessage, error) {
			return cfg.Check(ctx, Data(data), value)
		}
	}
	n := &Node{def: def, kind: kind, cfg: cfg}
	n.def.Of = n
	return n
}

// nodeOf is the node that def is a part of.
func nodeOf(def *workflowrt.Node) *Node { return def.Of.(*Node) }

// Kind is the kind of a node.
type Kind string

// The kinds of nodes.
const (
	KindFunction Kind = "function"
	KindAgent    Kind = "agent"
	KindTool     Kind = "tool"
	KindJoin     Kind = "join"
	KindWorker   Kind = "worker"
)

// NodeConfig has the settings of a node. The zero value works.
type NodeConfig struct {
	// Name is another name for a node that is made of a tool.
	Name string
	// Retry repeats the node when it fails; nil means that it is not repeated.
	Retry *Retry
	// Timeout limits each attempt; 0 means no limit. It ends the context of the
	// node, which must then return.
	Timeout time.Duration
	// RerunOnResume runs the function again when the user has answered what it
	// asked with RequestInput, which then returns the answer. Otherwise the
	// function is not run again: the answer is the output of the node.
	RerunOnResume bool
	// WaitForOutput keeps the branch waiting when the node ends without an output
	// and without a route: the next trigger runs it again.
	WaitForOutput bool
	// Effect says whether the function may be run again if its process died
	// while it ran. It may, unless Effect is tool.Once or tool.Ask: then the node
	// fails. Tools have an effect of their own.
	Effect tool.Effect
	// Auth is a login that the node needs. The user is asked for it, if there is
	// none, before the node begins; the function gets it from AuthResponse. Nodes
	// of agents ignore it: their tools ask.
	Auth *credential.Config
	// IsolationScope separates conversations: a model does not see events that
	// have another scope than its own. OwnScope makes one for each run of the
	// node.
	IsolationScope string
	// History lets the model of an agent see the conversation of the session.
	// Otherwise it sees the input of the node and what the agent does in this
	// run of the node.
	History bool
	// Check checks the data of the node; nil means that it is not checked. It
	// returns the value, or another one in place of an input or an output. An
	// error is a failure of the node.
	Check func(ctx *tool.Context, data Data, value json.RawMessage) (json.RawMessage, error)
}

// Data says which data of a node is checked.
type Data string

// The data of a node. The output of an agent is not checked: it has an
// OutputSchema.
const (
	InputData  Data = workflowrt.InputData
	OutputData Data = workflowrt.OutputData
	StateData  Data = workflowrt.StateData // an object with what an event changes in the state
)

// OwnScope is the IsolationScope of a node that has one of its own in each run.
const OwnScope = workflowrt.OwnScope

// Retry says how often a node that fails is repeated, and after which pauses.
// Fields that are 0 have the default.
type Retry struct {
	// MaxAttempts includes the first one. The default is 5.
	MaxAttempts int
	// InitialDelay is the first pause, 1 second by default. Each pause is
	// BackoffFactor times as long as the one before, 2 by default, up to
	// MaxDelay, 60 seconds by default.
	InitialDelay, MaxDelay time.Duration
	BackoffFactor          float64
	// Jitter is the part of a pause that is random: 1, the default, spreads
	// pauses between 0 and twice their length; -1 means none.
	Jitter float64
	// If reports whether a failure is worth another attempt; nil means always.
	If func(error) bool
}

// again returns the pause before the next attempt, and whether there is one.
func (r *Retry) again(attempt int, err error) (time.Duration, bool) {
	if r == nil || attempt >= cmp.Or(r.MaxAttempts, 5) || r.If != nil && !r.If(err) {
		return 0, false
	}
	most := cmp.Or(r.MaxDelay, time.Minute).Seconds()
	pause := cmp.Or(r.InitialDelay, time.Second).Seconds() * math.Pow(cmp.Or(r.BackoffFactor, 2), float64(attempt-1))
	if jitter := cmp.Or(r.Jitter, 1); jitter > 0 {
		pause = min(pause, most/(1+jitter))
		pause += pause * jitter * (2*rand.Float64() - 1) //nolint:gosec // it only spreads attempts
	}
	return time.Duration(min(max(pause, 0), most) * float64(time.Second)), true
}

// Func returns a node made of a function. The function receives the output of
// the node before it, or the text of the user's message, decoded from JSON. What
// it returns is encoded as JSON and is the output of the node; null means that
// there is none. In and Out may be json.RawMessage.
//
// When another process continues a run, a function that had not returned is run
// again, unless NodeConfig.Effect says otherwise. What it has emitted is not
// emitted twice, and nodes that it has run to their end are not run again.
func Func[In, Out any](name string, fn func(ctx *Context, in In) (Out, error), cfg NodeConfig) *Node {
	return newNode(KindFunction, cfg, workflowrt.Node{Name: name, Body: func(run workflowrt.Run, input json.RawMessage) (json.RawMessage, error) {
		var in In
		switch raw, ok := any(&in).(*json.RawMessage); {
		case ok:
			*raw = input
		case len(input) > 0:
			if err := json.Unmarshal(input, &in); err != nil {
				return nil, fmt.Errorf("the input does not fit the function: %w", err)
			}
		}
		out, err := fn(newContext(run), in)
		if err != nil {
			return nil, err
		}
		return workflowrt.EncodeValue(out)
	}})
}

// Agent returns a node that runs an agent, which becomes a sub-agent of the
// workflow. The name of the node is that of the agent. An agent that is driven
// by a model receives the input as the user's message; its output is its answer,
// decoded from JSON if it has an OutputSchema. The output of a workflow is that
// of its last node. Other agents have no output.
func Agent(a *agent.Agent, cfg NodeConfig) *Node {
	return newNode(KindAgent, cfg, workflowrt.Node{Name: a.Name(), Agent: a})
}

// Tool returns a node that calls a tool with its input, an object. Its output
// is the result. The name of the node is that of the tool, unless cfg has one.
//
// The node waits for the user if the tool does: a call that was confirmed, or that
// needed a login, is made when the answer has come, and the answer to the call of a
// long-running tool is the output. The effect of the tool decides whether a call
// that had begun when its process died is made again; if it must not be, the node
// fails, or asks the user what became of the call.
func Tool(t tool.Tool, cfg NodeConfig) *Node {
	return newNode(KindTool, cfg, workflowrt.Node{Name: cmp.Or(cfg.Name, t.Declaration().Name), Tool: t})
}

// Join returns a node that waits until all nodes before it have finished. Its
// output is an object with their outputs by name.
func Join(name string) *Node {
	return newNode(KindJoin, NodeConfig{}, workflowrt.Node{Name: name, Joins: true, Quiet: true, Body: func(_ workflowrt.Run, input json.RawMessage) (json.RawMessage, error) { return input, nil }})
}

// defaultWorkers is how many items of a list are worked on at the same time.
const defaultWorkers = 8

// ParallelWorker returns a node that runs another one for each item of its input,
// a list. Its output is the list of their outputs. most limits how many are run
// at the same time; 0 means 8.
func ParallelWorker(n *Node, most int) *Node {
	if most <= 0 {
		most = defaultWorkers
	}
	return newNode(KindWorker, NodeConfig{RerunOnResume: true}, workflowrt.Node{Name: n.Name(), Inner: &n.def, Body: func(run workflowrt.Run, input json.RawMessage) (json.RawMessage, error) {
		return each(run, n, input, most)
	}})
}

// Name returns the name of the node, which is unique in its workflow.
func (n *Node) Name() string { return n.def.Name }

// Kind returns the kind of the node.
func (n *Node) Kind() Kind { return n.kind }

// Config returns the settings of the node.
func (n *Node) Config() NodeConfig { return n.cfg }

// Agent returns the agent that the node runs, nil if it runs none.
func (n *Node) Agent() *agent.Agent {
	a, _ := n.def.Agent.(*agent.Agent)
	return a
}

// Inner returns the node that a worker runs for each item, nil if n is not a
// worker.
func (n *Node) Inner() *Node {
	if n.def.Inner == nil {
		return nil
	}
	return nodeOf(n.def.Inner)
}

// NeedsLogin reports whether the node asks users to log in; see
// tool.Declaration.NeedsLogin.
func (n *Node) NeedsLogin() bool { return n.def.NeedsLogin() }
