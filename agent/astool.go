package agent

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/tool"
)

// AsTool returns a tool that runs an agent and returns its answer, or the output
// of a workflow. The agent has a conversation of its own, with a copy of the
// state; when it is done, its changes of the state are applied to the session.
func AsTool(a *Agent) tool.Tool { return agentTool{a} }

type agentTool struct{ agent *Agent }

func (t agentTool) Declaration() tool.Declaration {
	params := json.RawMessage(`{"type":"object","properties":{"request":{"type":"string"}},"required":["request"]}`)
	if l := t.agent.llm; l != nil && l.cfg.InputSchema != nil {
		params = l.cfg.InputSchema
	}
	var effect tool.Effect
	if t.agent.remote != nil {
		effect = tool.Idempotent // a message that is sent again has the same id
	}
	return tool.Declaration{Effect: effect, Name: t.agent.name, Description: t.agent.description, Parameters: params, NeedsLogin: t.agent.needsLogin()}
}

// needsLogin reports whether a tool or a node in the tree does.
func (a *Agent) needsLogin() bool {
	for one := range a.all() {
		if one.remote != nil && one.remote.cfg.Auth != nil {
			return true
		}
		if one.llm != nil && slices.ContainsFunc(one.llm.cfg.Tools, func(t tool.Tool) bool { return t.Declaration().NeedsLogin }) {
			return true
		}
		if one.graph != nil && slices.ContainsFunc(one.graph.Nodes, (*workflowrt.Node).NeedsLogin) {
			return true
		}
	}
	return false
}

func (t agentTool) Call(tc *tool.Context, args json.RawMessage) (any, error) {
	outer := FromTool(tc)
	if outer == nil {
		return nil, errors.New("an agent can be a tool of agents only")
	}
	var in struct {
		Request string `json:"request"`
	}
	request := string(args) // an agent with an input schema gets its arguments
	if json.Unmarshal(args, &in) == nil && in.Request != "" {
		request = in.Request
	}
	message := event.Text(event.RoleUser, request)
	state := tool.NewState(outer.inv.Log, tc.Actions).All() // sealed values stay sealed
	log := agentrt.NewPrivateLog(state, nil)
	var resume *agentrt.Resume
	if before := outer.lifts[tc.FunctionCallID]; before != nil {
		// It has asked the user, who has answered.
		maps.Copy(state, before.State)
		for _, c := range before.Changes {
			if v, err := c.Apply(state[c.Key]); err == nil {
				state[c.Key] = v
			}
		}
		log = agentrt.NewPrivateLog(state, before.Events)
		log.Changes = before.Changes
		log.Delta = maps.Clone(before.State)
		if log.Delta == nil {
			log.Delta = map[string]json.RawMessage{}
		}
		message = &event.Content{Role: event.RoleUser, Parts: before.answers}
		resume = before.resume()
	}
	_ = log.Emit(&event.Event{Author: event.User, Content: message})
	inv := &invocation{
		Invocation: &agentrt.Invocation{
			App: outer.inv.App, User: outer.inv.User, Session: outer.inv.Session, ID: outer.inv.ID,
			UserContent: message, Log: log, Resume: resume, MaxModelCalls: outer.inv.MaxModelCalls,
			Credentials: outer.inv.Credentials, CredentialCall: outer.inv.CredentialCall, Secrets: outer.inv.Secrets,
			Artifacts: outer.inv.Artifacts, Memory: outer.inv.Memory,
			Budget: outer.inv.Budget, Unseen: outer.inv.Unseen, Observer: outer.inv.Observer, Edges: outer.inv.Edges,
		},
		spent: outer.inv.spent, hooks: outer.inv.hooks, ids: outer.inv.ids, outer: outer.inv, call: tc.FunctionCallID,
	}
	err := inv.start(tc, t.agent, func(ev *event.Event) error {
		if !ev.Partial {
			inv.unseen(ev.ModelVersion, ev.Usage)
		}
		if err := inv.seal(tc, &ev.Actions); err != nil {
			return err
		}
		return log.Emit(ev)
	})
	if errors.Is(err, ErrWaiting) {
		return tool.Pending(t.agent.name + " waits for an answer of the user."), lift(tc, log)
	}
	if p, ok := errors.AsType[*agentrt.Panic](err); ok {
		panic(p)
	}
	if err != nil {
		return nil, err
	}
	tc.Actions.Merge(&log.Saved)
	for k, v := range log.Delta {
		if !strings.HasPrefix(k, "temp:") {
			if err := tc.State.Set(k, v); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range log.Changes {
		if !strings.HasPrefix(c.Key, "temp:") {
			tc.Actions.Merge(&event.Actions{StateChanges: []event.StateChange{c}})
		}
	}
	text, err := log.Last()
	if err != nil {
		return nil, err
	}
	if output := lastOutput(log); t.agent.graph != nil && output != nil {
		return output, nil
	}
	return t.answer(text), nil
}

// lastOutput is the output of the workflow that a log is of, nil if it has none.
func lastOutput(log *agentrt.PrivateLog) json.RawMessage {
	for _, ev := range slices.Backward(log.Events()) {
		if output := ev.Extra[agentrt.OutputMember]; output != nil {
			return output
		}
	}
	return nil
}

func (t agentTool) answer(text string) any {
	if l := t.agent.llm; l != nil && l.cfg.OutputSchema != nil && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
