package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/tool"
)

// remoteCall is a run of a remote agent as edges see it: the call of a tool whose result
// is what the agent has said.
type remoteCall struct {
	run func(tc *tool.Context) (any, error)
}

func (remoteCall) Declaration() tool.Declaration {
	return tool.Declaration{Name: agentrt.RemoteCall}
}

func (c remoteCall) Call(tc *tool.Context, _ json.RawMessage) (any, error) { return c.run(tc) }

// Unnamed implements agentrt.Unnamed.
func (remoteCall) Unnamed() {}

// remoteArgs are the arguments of such a call.
type remoteArgs struct {
	Task         string        `json:"task,omitempty"`
	Conversation string        `json:"conversation,omitempty"`
	Parts        []*event.Part `json:"parts,omitempty"`
}

// remoteResult is the result of such a call.
type remoteResult struct {
	Updates []remoteNote `json:"updates,omitempty"`
	Error   string       `json:"error,omitempty"`
}

// remoteNote is something that a remote agent has said.
type remoteNote struct {
	Event *event.Event `json:"event"`
	Last  bool         `json:"last,omitempty"`
}

// noteUpdate notes an update as it is emitted.
func (t *remoteRun) noteUpdate(u *RemoteUpdate) {
	if t.notes == nil || u.Event.Partial {
		return
	}
	said := *u.Event
	*t.notes = append(*t.notes, remoteNote{&said, u.Ended})
}

// recorded runs the agent through the edges of the run. If they answer in its place, it
// emits what the agent has said.
func (t *remoteRun) recorded(who string) error {
	m := t.message(who)
	if t.task == "" && len(m.Parts) == 0 {
		return t.fail(errors.New("there is nothing to send to the agent"))
	}
	actions := &event.Actions{}
	tc := t.ctx.toolContext(actions)
	tc.FunctionCallID = t.messageID(who)
	args, err := json.Marshal(remoteArgs{Task: m.Task, Conversation: m.Conversation, Parts: m.Parts})
	if err != nil {
		return fmt.Errorf("encode a message to %s: %w", t.ctx.agent.name, err)
	}
	made := false
	var failure error
	value, err := t.ctx.callTool(tc, remoteCall{func(tc *tool.Context) (any, error) {
		made = true
		var result remoteResult
		t.notes = &result.Updates
		question, err := t.authorize()
		switch {
		case err != nil:
			return nil, err
		case question != nil:
			doc, err := question.AppendJSON(nil, credential.Camel)
			if err != nil {
				return nil, err
			}
			tc.Actions.RequestedAuthConfigs = map[string]json.RawMessage{tc.FunctionCallID: doc}
			return result, t.ctx.askLogin(login{t.messageID("login"), question}, t.emit)
		}
		if failure = t.follow(m); failure != nil {
			if t.ctx.Err() != nil {
				return nil, failure
			}
			result.Error = failure.Error()
		}
		return result, nil
	}}, args)
	if made {
		if err != nil && failure == nil {
			return err
		}
		return t.ended(failure)
	}
	if err != nil {
		return err
	}
	return t.repeat(tc, value)
}

// repeat emits what the agent has said in the run that is repeated.
func (t *remoteRun) repeat(tc *tool.Context, value any) error {
	for _, doc := range tc.Actions.RequestedAuthConfigs {
		question := &credential.Config{}
		if err := json.Unmarshal(doc, question); err != nil {
			return fmt.Errorf("read the login for %s: %w", t.ctx.agent.name, err)
		}
		return t.ctx.askLogin(login{t.messageID("login"), question}, t.emit)
	}
	var result remoteResult
	doc, err := toolresult.Of(value)
	if err == nil {
		err = json.Unmarshal(doc, &result)
	}
	if err != nil {
		return fmt.Errorf("read what %s has said: %w", t.ctx.agent.name, err)
	}
	for _, said := range result.Updates {
		said.Event.TurnComplete = t.ctx.last && said.Last
		if err := t.emit(said.Event); err != nil {
			return err
		}
	}
	if result.Error != "" {
		return t.fail(errors.New(result.Error))
	}
	return nil
}
