package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
)

// graphDefinition is the part of a definition that only workflows have.
type graphDefinition struct {
	Entry          *nodeDefinition  `json:"entry"`
	Nodes          []nodeDefinition `json:"nodes"`
	Edges          []edgeDefinition `json:"edges"`
	MaxConcurrency int              `json:"maxConcurrency"`
}

// edgeDefinition has the indexes of nodes; From is -1 for the start.
type edgeDefinition struct {
	From   int      `json:"from"`
	To     int      `json:"to"`
	Routes []string `json:"routes"`
}

// nodeDefinition is a node as js/adk/define-workflow.js describes it.
type nodeDefinition struct {
	Kind           string           `json:"kind"`
	Name           string           `json:"name"`
	Fn             int              `json:"fn"`
	Agent          *definition      `json:"agent"`
	Tool           *toolDefinition  `json:"tool"`
	Inner          *nodeDefinition  `json:"inner"`
	MaxWorkers     int              `json:"maxWorkers"`
	Retry          *retryDefinition `json:"retry"`
	Timeout        float64          `json:"timeout"` // in seconds
	RerunOnResume  bool             `json:"rerunOnResume"`
	WaitForOutput  bool             `json:"waitForOutput"`
	IsolationScope string           `json:"isolationScope"`
	History        bool             `json:"history"`
	AuthConfig     json.RawMessage  `json:"authConfig"`
	Check          *int             `json:"check"` // of the schemas of a node that is not a function
}

// retryDefinition is a retryConfig; times are in seconds, and nil means the
// default.
type retryDefinition struct {
	MaxAttempts   *int     `json:"maxAttempts"`
	InitialDelay  *float64 `json:"initialDelay"`
	MaxDelay      *float64 `json:"maxDelay"`
	BackoffFactor *float64 `json:"backoffFactor"`
	Jitter        *float64 `json:"jitter"`
	Exceptions    []string `json:"exceptions"`
}

func (a *App) workflow(def *definition, base agent.Config) (*agent.Agent, error) {
	cfg := workflow.Config{
		Name: def.Name, Description: def.Description, MaxConcurrency: def.MaxConcurrency,
		BeforeAgent: base.BeforeAgent, AfterAgent: base.AfterAgent,
	}
	if def.Entry != nil {
		var err error
		if cfg.Entry, err = a.node(def.Entry); err != nil {
			return nil, fmt.Errorf("the workflow %s: %w", def.Name, err)
		}
	}
	nodes := make([]*workflow.Node, len(def.Nodes))
	for i := range def.Nodes {
		var err error
		if nodes[i], err = a.node(&def.Nodes[i]); err != nil {
			return nil, fmt.Errorf("the workflow %s: the node %s: %w", def.Name, def.Nodes[i].Name, err)
		}
	}
	for _, e := range def.Edges {
		edge := workflow.Edge{To: nodes[e.To], Routes: e.Routes}
		if e.From >= 0 {
			edge.From = nodes[e.From]
		}
		cfg.Edges = append(cfg.Edges, edge)
	}
	return workflow.New(cfg)
}

func (a *App) node(def *nodeDefinition) (*workflow.Node, error) {
	cfg := workflow.NodeConfig{
		Name: def.Name, Timeout: seconds(def.Timeout), Retry: def.Retry.of(),
		RerunOnResume: def.RerunOnResume, WaitForOutput: def.WaitForOutput, IsolationScope: def.IsolationScope, History: def.History,
	}
	if def.Check != nil {
		cfg.Check = a.nodeCheck(*def.Check)
	}
	switch def.Kind {
	case "function":
		if !isNull(def.AuthConfig) {
			var err error
			if cfg.Auth, err = nodeAuth(def.AuthConfig); err != nil {
				return nil, err
			}
		}
		return workflow.Func(def.Name, a.nodeFunction(def.Fn, cfg.Auth), cfg), nil
	case "agent":
		inner, err := a.agent(def.Agent)
		if err != nil {
			return nil, err
		}
		return workflow.Agent(inner, cfg), nil
	case "tool":
		t, err := a.tool(*def.Tool)
		if err != nil {
			return nil, err
		}
		return workflow.Tool(t, cfg), nil
	case "join":
		return workflow.Join(def.Name), nil
	case "worker":
		inner, err := a.node(def.Inner)
		if err != nil {
			return nil, err
		}
		return workflow.ParallelWorker(inner, def.MaxWorkers), nil
	}
	return nil, fmt.Errorf("it is of the unknown kind %q", def.Kind)
}

// nodeCheck checks the data of a node in JavaScript; see checkOf in
// js/adk/define-workflow.js.
func (a *App) nodeCheck(fn int) func(*tool.Context, workflow.Data, json.RawMessage) (json.RawMessage, error) {
	return func(tc *tool.Context, data workflow.Data, value json.RawMessage) (json.RawMessage, error) {
		params, err := json.Marshal(struct {
			Data  workflow.Data   `json:"data"`
			Value json.RawMessage `json:"value"`
		}{data, value})
		if err != nil {
			return nil, fmt.Errorf("encode a call: %w", err)
		}
		out, err := a.callAs(tc, toolScope(tc), fn, string(params))
		if err != nil {
			return nil, err
		}
		var reply struct {
			Value   json.RawMessage `json:"value"`
			Failure *nodeFailure    `json:"failure"`
		}
		if err := json.Unmarshal(out.Value, &reply); err != nil {
			return nil, fmt.Errorf("read the result: %w", err)
		}
		if reply.Failure != nil {
			return nil, reply.Failure.err()
		}
		return reply.Value, nil
	}
}

// nodeAuth reads the authConfig of a node. A key or a password in it is an example:
// @google/adk asks users for theirs.
func nodeAuth(doc json.RawMessage) (*credential.Config, error) {
	cfg, err := authConfigOf(doc)
	if err != nil {
		return nil, err
	}
	if raw := cfg.Raw; raw != nil && (raw.Type == credential.TypeAPIKey || raw.Type == credential.TypeHTTP) {
		cfg.Raw = nil
	}
	return cfg, nil
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func (def *retryDefinition) of() *workflow.Retry {
	if def == nil {
		return nil
	}
	r := &workflow.Retry{If: def.matches}
	if n := def.MaxAttempts; n != nil {
		r.MaxAttempts = max(*n, 1)
	}
	// In workflow.Retry 0 is the default.
	if d := def.InitialDelay; d != nil {
		r.InitialDelay = max(seconds(*d), 1)
	}
	if d := def.MaxDelay; d != nil {
		r.MaxDelay = max(seconds(*d), 1)
	}
	if f := def.BackoffFactor; f != nil {
		r.BackoffFactor = *f
	}
	if j := def.Jitter; j != nil {
		r.Jitter = *j
		if *j <= 0 {
			r.Jitter = -1
		}
	}
	return r
}

// matches reports whether the exceptions have the name of an error.
func (def *retryDefinition) matches(err error) bool {
	if def.Exceptions == nil {
		return true
	}
	names := []string{"Error"}
	if f := (*agentrt.NodeFailure)(nil); errors.As(err, &f) {
		names = f.Names
	} else if f := (*agentrt.Failure)(nil); errors.As(err, &f) {
		names = []string{"NodeReportedError"}
	} else if workflow.IsTimeout(err) {
		names = []string{"NodeTimeoutError"}
	}
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(def.Exceptions, name) })
}

// nodeCall is what a function of a node gets; see run in js/adk/node-context.js.
type nodeCall struct {
	Input      json.RawMessage            `json:"input,omitempty"`
	Path       string                     `json:"path"`
	RunID      string                     `json:"runId"`
	Attempt    int                        `json:"attempt"`
	Answers    map[string]json.RawMessage `json:"answers,omitempty"`
	Credential json.RawMessage            `json:"credential,omitempty"` // of the authConfig
}

// nodeReply is what the function has done.
type nodeReply struct {
	Output  json.RawMessage `json:"output"`
	Event   json.RawMessage `json:"event"` // with which the node ends
	Routes  []string        `json:"routes"`
	Asks    []inputRequest  `json:"asks"`
	Waiting bool            `json:"waiting"` // a node that it ran waits for the user
	Failure *nodeFailure    `json:"failure"`
}

type inputRequest struct {
	ID      string          `json:"id"`
	Message string          `json:"message"`
	Payload json.RawMessage `json:"payload"`
	Schema  json.RawMessage `json:"schema"`
}

type nodeFailure struct {
	Names   []string `json:"names"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Final   bool     `json:"final"`
}

func (f *nodeFailure) err() error {
	return &agentrt.NodeFailure{Message: f.Message, Code: f.Code, Names: f.Names, Final: f.Final}
}

// nodeFunction is the function of a node that is JavaScript; auth is the login that
// it needs, nil for none.
func (a *App) nodeFunction(fn int, auth *credential.Config) func(*workflow.Context, json.RawMessage) (json.RawMessage, error) {
	return func(ctx *workflow.Context, input json.RawMessage) (json.RawMessage, error) {
		call := nodeCall{Input: input, Path: ctx.Path(), RunID: ctx.RunID(), Attempt: ctx.Attempt(), Answers: ctx.Answers()}
		if auth != nil {
			cred, err := ctx.AuthResponse(auth)
			if err != nil {
				return nil, err
			}
			if cred != nil { // the attempt before may have dropped it
				if call.Credential, err = cred.AppendJSON(nil, credential.Camel); err != nil {
					return nil, err
				}
			}
		}
		params, err := json.Marshal(call)
		if err != nil {
			return nil, fmt.Errorf("encode a call: %w", err)
		}
		sc := toolScope(ctx.Context)
		sc.node = ctx
		out, err := a.callAs(ctx.Context, sc, fn, string(params))
		if err != nil {
			return nil, err
		}
		var reply nodeReply
		if err := json.Unmarshal(out.Value, &reply); err != nil {
			return nil, fmt.Errorf("read the result: %w", err)
		}
		return reply.apply(ctx)
	}
}

func (reply *nodeReply) apply(ctx *workflow.Context) (json.RawMessage, error) {
	switch f := reply.Failure; {
	case f != nil:
		return nil, f.err()
	case reply.Waiting:
		return nil, agent.ErrWaiting
	case len(reply.Asks) > 0:
		return ask(ctx, reply.Asks)
	}
	if len(reply.Routes) > 0 {
		ctx.SetRoute(reply.Routes...)
	}
	if reply.Event != nil {
		ev, err := nodeEvent(reply.Event)
		if err != nil {
			return nil, err
		}
		return nil, ctx.Emit(ev)
	}
	return reply.Output, nil
}

// ask asks the user. If all has been answered, the answers are the output.
func ask(ctx *workflow.Context, requests []inputRequest) (json.RawMessage, error) {
	answers := make([]json.RawMessage, len(requests))
	var waits error
	for i, r := range requests {
		req := workflow.InputRequest{ID: r.ID, Message: r.Message, Schema: r.Schema}
		if !isNull(r.Payload) {
			req.Payload = r.Payload
		}
		var err error
		answers[i], err = ctx.RequestInput(req)
		if err != nil && !errors.Is(err, agent.ErrWaiting) {
			return nil, err
		}
		waits = errors.Join(waits, err)
	}
	switch {
	case waits != nil:
		return nil, agent.ErrWaiting
	case len(answers) == 1:
		return answers[0], nil
	}
	return json.Marshal(answers)
}

func nodeEvent(doc json.RawMessage) (*event.Event, error) {
	ev := &event.Event{}
	if err := ev.UnmarshalJSON(doc); err != nil {
		return nil, fmt.Errorf("the node emitted something that is not an event: %w", err)
	}
	return ev, nil
}

// nodeOf is the node on whose behalf an operation is requested.
func nodeOf(ctx context.Context) (*workflow.Context, error) {
	sc, _ := engine.Scope(ctx).(*scope)
	if sc == nil || sc.node == nil {
		return nil, errors.New("it can be used in the function of a node only, with the context that it gets")
	}
	return sc.node, nil
}

// emitNode emits an event of a node before it ends.
func emitNode(ctx context.Context, params json.RawMessage, _ func(any) error) error {
	node, err := nodeOf(ctx)
	if err != nil {
		return err
	}
	ev, err := nodeEvent(params)
	if err != nil {
		return err
	}
	return node.Emit(ev)
}

// runNode runs a node for another one.
func (a *App) runNode(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var p struct {
		Node      nodeDefinition  `json:"node"`
		Input     json.RawMessage `json:"input"`
		RunID     string          `json:"runId"`
		SubBranch bool            `json:"subBranch"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	node, err := nodeOf(ctx)
	if err != nil {
		return err
	}
	inner, err := a.node(&p.Node)
	if err != nil {
		return err
	}
	within, tc := *node, *node.Context
	tc.Context, within.Context = ctx, &tc
	result, err := within.Run(inner, p.Input, &workflow.RunOptions{RunID: p.RunID, SubBranch: p.SubBranch})
	if errors.Is(err, agent.ErrWaiting) {
		return yield(map[string]any{"waiting": true})
	}
	if failed := (*workflow.Error)(nil); errors.As(err, &failed) {
		names, reason := []string{"Error"}, failed.Err
		if f := (*agentrt.NodeFailure)(nil); errors.As(err, &f) {
			names = f.Names
		}
		return yield(map[string]any{"failure": map[string]any{"path": failed.Path, "message": reason.Error(), "names": names}})
	}
	if err != nil {
		return err
	}
	return yield(map[string]any{"output": result.Output, "routes": result.Routes, "branch": result.Branch})
}
