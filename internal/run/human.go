package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// checkAnswers refuses an answer that does not match its question before anything
// is stored, so the question stays open. Of a confirmation, only the known members
// are stored.
func (a *admission) checkAnswers(ctx context.Context) error {
	req := &a.req
	var l *log
	for i, p := range req.Message.Parts {
		r := p.FunctionResponse
		if r == nil || r.Name != agent.ConfirmationCall && r.Name != tool.InputCall {
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
			if err := tool.CheckInput(call.Args, r.Response); err != nil && !r.Interim() {
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
	return append(out, '}'), nil
}

type decision struct {
	Confirmed *bool           `json:"confirmed"`
	Payload   json.RawMessage `json:"payload"`
	Response  json.RawMessage `json:"response"`
}

func decisionIn(doc json.RawMessage) (d decision, err error) {
	err = json.Unmarshal(doc, &d)
	return d, err
}
