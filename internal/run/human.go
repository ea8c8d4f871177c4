package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/schema"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// answerInput lets a text answer the question of a workflow, if it is the only one
// that is open in the session. The text stays in the message: it is what the user
// wrote.
func (a *admission) answerInput(ctx context.Context) error {
	req := a.req
	if !isText(req.Message) || !hasWorkflow(a.root) {
		return nil
	}
	l, asked, err := a.engine.openCalls(ctx, req.Key)
	if err != nil {
		return err
	}
	if len(asked) != 1 || asked[0].name != tool.InputCall {
		return nil
	}
	r := &event.FunctionResponse{ID: asked[0].id, Name: tool.InputCall}
	ev, err := waitingCall(l, r)
	if err != nil {
		return err
	}
	if _, ok := agentrt.NodeOf(ev); !ok {
		return nil // a model has asked
	}
	call, err := callOf(l, r)
	if err != nil {
		return err
	}
	r.Response = textAnswer(call.Args, req.Message.Text())
	message := *req.Message // do not change the caller's value
	message.Parts = append([]*event.Part{{FunctionResponse: r}}, message.Parts...)
	req.Message = &message
	return nil
}

// textAnswer returns the answer that a text is. One that looks like JSON remains a
// text, unless something else was asked for.
func textAnswer(args json.RawMessage, text string) json.RawMessage {
	wrap := func(text string) json.RawMessage { return append(wire.Quote([]byte(`{"result":`), text), '}') }
	quoted := wire.Quote(nil, text)
	answer := wrap(text)
	if string(schema.InputValue(args, answer)) == string(quoted) {
		return answer
	}
	if again := wrap(string(quoted)); schema.CheckInput(args, again) == nil {
		return again
	}
	return answer
}

// isText reports whether a message has nothing but text.
func isText(m *event.Content) bool {
	return !slices.ContainsFunc(m.Parts, func(p *event.Part) bool { return !p.IsText() })
}

func hasWorkflow(a *agent.Agent) bool {
	return a.Kind() == agentrt.KindWorkflow || slices.ContainsFunc(a.SubAgents(), hasWorkflow)
}

// checkAnswers refuses an answer that does not match its question before anything
// is stored, so the question stays open. Of a confirmation, only the known members
// are stored.
func (a *admission) checkAnswers(ctx context.Context) error {
	req := a.req
	var l *log
	for i, p := range req.Message.Parts {
		r := p.FunctionResponse
		if r == nil || r.Name != tool.ConfirmationCall && r.Name != tool.InputCall {
			continue
		}
		if l == nil {
			var err error
			if l, err = a.log(ctx); err != nil {
				return err
			}
			if _, err := answers(l, req.Message); err != nil {
				return err
			}
			message := *req.Message // do not change the caller's value
			message.Parts = append([]*event.Part(nil), message.Parts...)
			req.Message = &message
		}
		if r.Name == tool.InputCall {
			call, err := callOf(l, r)
			if err != nil {
				return err
			}
			if err := schema.CheckInput(call.Args, r.Response); err != nil && !r.Interim() {
				return invalidAnswer(i, r, "does not fit what was asked for: "+err.Error())
			}
			continue
		}
		said, err := confirmation(r.Response)
		if err != nil {
			return invalidAnswer(i, r, err.Error())
		}
		part := *p
		part.FunctionResponse = &event.FunctionResponse{ID: r.ID, Name: r.Name, Response: said}
		req.Message.Parts[i] = &part
	}
	return nil
}

// invalidAnswer returns the error for an answer that does not match its question.
func invalidAnswer(part int, r *event.FunctionResponse, why string) error {
	return &wire.Error{
		Type: "value_error", Path: []any{"newMessage", "parts", part, "functionResponse", "response"},
		Msg: fmt.Sprintf("The answer to %s %s", r.ID, why),
	}
}

// callOf returns the call that r answers.
func callOf(l *log, r *event.FunctionResponse) (*event.FunctionCall, error) {
	ev, err := waitingCall(l, r)
	if err != nil {
		return nil, err
	}
	for _, call := range ev.FunctionCalls() {
		if call.ID == r.ID {
			return call, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknownCall, r.ID)
}

// confirmation returns the content of an answer to a confirmation request, as it is
// stored. Some clients wrap it in a string.
func confirmation(answer json.RawMessage) (json.RawMessage, error) {
	said, err := decisionIn(answer)
	if inner := said.Response; err == nil && said.Confirmed == nil && len(inner) > 0 {
		var text string
		if json.Unmarshal(inner, &text) == nil {
			inner = json.RawMessage(text)
		}
		said, err = decisionIn(inner)
	}
	if err != nil || said.Confirmed == nil {
		return nil, errors.New(`must be {"confirmed": true} or {"confirmed": false}, with a payload if there is one`)
	}
	out := fmt.Appendf(nil, `{"confirmed":%t`, *said.Confirmed)
	if len(said.Payload) > 0 { // null differs from absent
		out = append(append(out, `,"payload":`...), said.Payload...)
	}
	switch {
	case *said.Confirmed && len(said.Args) > 0 && string(said.Args) != "null":
		if said.Args[0] != '{' {
			return nil, errors.New("must have an object as its editedArgs: all arguments of the call")
		}
		out = append(append(out, `,"editedArgs":`...), said.Args...)
	case !*said.Confirmed && len(said.Reason) > 0 && said.Reason[0] == '"': // anything else is for the client alone
		out = append(append(out, `,"reason":`...), said.Reason...)
	}
	return append(out, '}'), nil
}

type decision struct {
	Confirmed *bool           `json:"confirmed"`
	Payload   json.RawMessage `json:"payload"`
	Args      json.RawMessage `json:"editedArgs"`
	Reason    json.RawMessage `json:"reason"`
	Response  json.RawMessage `json:"response"`
}

func decisionIn(doc json.RawMessage) (d decision, err error) {
	err = json.Unmarshal(doc, &d)
	return d, err
}
