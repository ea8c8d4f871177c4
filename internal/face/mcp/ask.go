package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// inputRequest asks the client for something.
type inputRequest struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

// elicits are the parameters of elicitation/create.
type elicits struct {
	Mode    string          `json:"mode,omitempty"`
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema,omitempty"`
	URL     string          `json:"url,omitempty"`
	ID      string          `json:"elicitationId,omitempty"`
}

// elicited is the answer of a client.
type elicited struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content"`
}

// asked is a question in the result for programs.
type asked struct {
	ID      string          `json:"id"`
	Kind    string          `json:"kind"`
	Message string          `json:"message,omitempty"`
	URL     string          `json:"url,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
}

// questions returns what a session waits for.
func (e *exchange) questions(ctx context.Context, key session.Key) ([]*face.Question, error) {
	open, err := e.Engine().OpenCalls(ctx, key)
	if err != nil {
		return nil, err
	}
	var list []*face.Question
	for _, call := range open {
		if q := questionFor(call); q != nil {
			list = append(list, q)
		}
	}
	return list, nil
}

// request returns a question as the client can ask it; nil if it cannot. A login is
// possible if the provider sends the user back to this server. Credentials must not be
// asked for in forms.
func (e *exchange) request(q *face.Question) *inputRequest {
	if t, ok := clientTools[q.Name]; ok {
		if !e.can.has(t.capability) {
			return nil
		}
		return t.request(q)
	}
	p := elicits{Message: messageOf(q)}
	if q.Kind == face.Login {
		if !e.can.url() || !e.managed(q) {
			return nil
		}
		p.Mode, p.URL, p.ID = "url", q.AuthURI, q.ID
		return &inputRequest{"elicitation/create", p}
	}
	if !e.can.form() {
		return nil
	}
	if e.version >= newestLegacy {
		p.Mode = "form"
	}
	p.Schema, _ = formOf(q, e.version)
	return &inputRequest{"elicitation/create", p}
}

// managed reports whether this server completes a login.
func (e *exchange) managed(q *face.Question) bool {
	return strings.HasPrefix(q.AuthURI, e.BaseURL(e.r)+"/oauth/start?")
}

// messageOf returns the text of a question.
func messageOf(q *face.Question) string {
	if q.Kind != face.Confirmation {
		if q.Message == "" {
			return "The agent needs an answer."
		}
		return q.Message
	}
	text := fmt.Sprintf("May the agent call %s with %s?", q.Tool, q.Args)
	if q.Message != "" {
		text += " " + q.Message
	}
	return text
}

// formOf returns the schema of the form for a question. Forms have plain properties
// only, in the version of the client: what is not an object with these is one property,
// and wrapped says so.
func formOf(q *face.Question, version string) (schema json.RawMessage, wrapped bool) {
	if q.Kind == face.Confirmation {
		return json.RawMessage(`{"type":"object","properties":{"approved":{"type":"boolean","title":"Approve"}},"required":["approved"]}`), false
	}
	var s struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(q.Schema, &s) // one that cannot be read is not plain
	if s.Type == "object" && len(s.Properties) > 0 {
		for _, property := range s.Properties {
			if !isPlain(property, version) {
				return wrap(json.RawMessage(`{"type":"string","description":"The answer, as JSON"}`)), true
			}
		}
		return q.Schema, false
	}
	if isPlain(q.Schema, version) {
		return wrap(q.Schema), true
	}
	return wrap(json.RawMessage(`{"type":"string","description":"The answer"}`)), true
}

func wrap(schema json.RawMessage) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"answer":` + string(schema) + `},"required":["answer"]}`)
}

// isPlain reports whether forms can have a property: a single value, or since
// 2025-11-25 several of some texts.
func isPlain(schema json.RawMessage, version string) bool {
	var s struct {
		Type  any `json:"type"`
		Items struct {
			Type  string `json:"type"`
			Enum  []any  `json:"enum"`
			AnyOf []struct {
				Const *string `json:"const"`
			} `json:"anyOf"`
		} `json:"items"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	switch s.Type {
	case "string", "number", "integer", "boolean":
		return true
	case "array":
		if version < newestLegacy {
			return false
		}
		for _, one := range s.Items.AnyOf {
			if one.Const == nil {
				return false
			}
		}
		return len(s.Items.AnyOf) > 0 || s.Items.Type == "string" && len(s.Items.Enum) > 0
	}
	return false
}

// replyTo returns the answer that a client gives to a question; nil if it gives none,
// such as for a login that the user only begins.
func replyTo(q *face.Question, doc json.RawMessage, version string) *event.Part {
	if _, ok := clientTools[q.Name]; ok {
		if len(doc) == 0 {
			return nil
		}
		return q.Answer(doc)
	}
	var a elicited
	if json.Unmarshal(doc, &a) != nil {
		return nil
	}
	switch a.Action {
	case "decline", "cancel":
		return q.Decline()
	case "accept":
	default:
		return nil
	}
	if q.Kind == face.Login || a.Content == nil {
		return nil
	}
	_, wrapped := formOf(q, version)
	if !wrapped {
		whole, err := json.Marshal(a.Content)
		if err != nil {
			return nil
		}
		return q.Reply(whole)
	}
	value := a.Content["answer"]
	var text string
	if len(value) == 0 {
		return nil
	}
	if len(q.Schema) > 0 && !isPlain(q.Schema, version) && json.Unmarshal(value, &text) == nil && json.Valid([]byte(text)) {
		value = json.RawMessage(text)
	}
	return q.Reply(value)
}

// mayAnswer refuses arguments that approve a call: the model of the client writes them,
// and a confirmation is for a human. Clients that can ask their users have answered it
// before.
func (e *exchange) mayAnswer(key session.Key, answers map[string]json.RawMessage) error {
	questions, err := e.questions(e.r.Context(), key)
	if err != nil {
		return err
	}
	for _, q := range questions {
		value := answers[q.ID]
		if q.Kind != face.Confirmation || value == nil {
			continue
		}
		var decision struct {
			Confirmed bool `json:"confirmed"`
		}
		if part := q.Reply(value); part == nil || json.Unmarshal(part.FunctionResponse.Response, &decision) != nil || decision.Confirmed {
			return &face.Problem{Status: http.StatusForbidden, Message: fmt.Sprintf("The argument answers cannot approve a call, only refuse it with false. %s", approveElsewhere(key.ID))}
		}
	}
	return nil
}

// approveElsewhere says how a call is approved if the client cannot ask its user.
func approveElsewhere(id string) string {
	return fmt.Sprintf(`The user has to approve it in a client that asks its user, such as the developer UI of the server, in the session %q. Then call this tool again with "session": %q and an empty message.`, id, id)
}

// respond answers the open questions of a session for which answer returns something.
// It returns the run that goes on, nil if there is nothing to answer.
func (e *exchange) respond(ctx context.Context, key session.Key, caller string, row *session.Run, answer func(*face.Question) *event.Part) (*run.Run, error) {
	questions, err := e.questions(ctx, key)
	if err != nil {
		return nil, err
	}
	message := &event.Content{Role: event.RoleUser}
	for _, q := range questions {
		if part := answer(q); part != nil {
			message.Parts = append(message.Parts, part)
		}
	}
	if len(message.Parts) > 0 {
		started, err := e.Engine().Start(ctx, run.Request{Key: key, Caller: caller, Stream: true, Message: message})
		if !errors.Is(err, run.ErrAnswered) && !errors.Is(err, run.ErrUnknownCall) {
			return started, err
		}
	}
	next, err := e.Engine().Resumption(ctx, row) // a repeated answer
	if next == nil || err != nil {
		return nil, err
	}
	return e.Engine().Find(ctx, key, next.ID)
}

// asks returns the result of a call that waits: requests that the client answers with
// another round, or else a text that says what is asked.
func (e *exchange) asks(got *outcome, row *session.Run, questions []*face.Question) (any, error) {
	if err := e.lacks(questions); err != nil {
		if e.modern {
			return nil, err
		}
		return failure(err.Message), nil
	}
	if e.modern && len(questions) > 0 {
		if requests := e.requests(questions); requests != nil {
			return map[string]any{
				"resultType": "input_required", "inputRequests": requests, "requestState": requestState(row),
			}, nil
		}
	}
	r := got.result(row)
	r.Content = r.Content[:len(r.Content)-1] // the names come last
	for _, q := range questions {
		url := q.AuthURI
		r.Structured.Questions = append(r.Structured.Questions, asked{q.ID, string(q.Kind), messageOf(q), url, q.Schema})
		how := fmt.Sprintf(`Ask the user, then call this tool again with "session": %q and "answers": {%q: …}`, row.Key.ID, q.ID)
		switch {
		case q.Kind == face.Confirmation:
			how = fmt.Sprintf(`%s To refuse it, call this tool again with "session": %q and "answers": {%q: false}.`, approveElsewhere(row.Key.ID), row.Key.ID, q.ID)
		case q.Kind == face.Login && e.managed(q):
			how = fmt.Sprintf(`The user has to log in at %s. Then call this tool again with "session": %q and an empty message.`, url, row.Key.ID)
		case len(q.Schema) > 0:
			how += `, where … matches the schema ` + string(q.Schema)
		}
		r.Content = append(r.Content, text("The agent waits for the user. "+messageOf(q)+" "+how))
	}
	if len(questions) == 0 {
		r.Content = append(r.Content, text("The agent waits for a result that arrives later. Call this tool again with the session and an empty message."))
	}
	return r.named(), nil
}

// requests returns the requests for questions; nil if the client cannot ask one of
// them.
func (e *exchange) requests(questions []*face.Question) map[string]*inputRequest {
	requests := map[string]*inputRequest{}
	for _, q := range questions {
		r := e.request(q)
		if r == nil {
			return nil
		}
		requests[q.ID] = r
	}
	return requests
}

// requestState returns what a client sends back with its answers. It names the run,
// and a client that changes it reaches no more than it could otherwise.
func requestState(row *session.Run) string {
	handle := face.Handle(row.Key.ID, row.ID)
	return handle + "." + face.Fingerprint([]byte(handle))[:16]
}

// readState returns the session and the run of a state.
func readState(state string) (id, run string, err error) {
	handle, sum, _ := strings.Cut(state, ".")
	names, ok := face.ParseHandle(handle, 2)
	if !ok || sum != face.Fingerprint([]byte(handle))[:16] {
		return "", "", &rpcError{status: http.StatusBadRequest, Code: invalidParams, Message: "Invalid params: the requestState is not one of this server"}
	}
	return names[0], names[1], nil
}

// resume continues a call with the answers of the client.
func (e *exchange) resume(p callParams) (any, error) {
	id, name, err := readState(p.State)
	if err != nil {
		return nil, err
	}
	key, who, err := e.key(id)
	if err != nil {
		return nil, err
	}
	row, err := e.Engine().Run(e.r.Context(), key, name)
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrRunNotFound) {
		return nil, invalid("Invalid params: the requestState is not one of this server")
	}
	if err != nil {
		return nil, err
	}
	begun := false
	next, err := e.respond(e.r.Context(), key, who.Caller, row, func(q *face.Question) *event.Part {
		var a elicited
		if q.Kind == face.Login && json.Unmarshal(p.Responses[q.ID], &a) == nil && a.Action == "accept" {
			begun = true
		}
		return replyTo(q, p.Responses[q.ID], e.version)
	})
	if err != nil {
		return e.refused(key, err)
	}
	if next == nil && begun { // the user logs in: the run goes on when the provider calls back
		ctx, cancel := e.UntilExpiry(e.r)
		defer cancel()
		resumed, err := e.await(ctx, row)
		if err != nil {
			return nil, err
		}
		next, err = e.Engine().Find(ctx, key, resumed.ID)
		if err != nil {
			return nil, err
		}
	}
	if next == nil {
		if next, err = e.Engine().Find(e.r.Context(), key, name); err != nil {
			return nil, err
		}
	}
	return e.finish(next)
}

// answered takes the response of a client before 2026-07-28 to a question, on any
// server: the id says which one it is. The call that asked goes on.
func (e *exchange) answered() error {
	var id string
	_ = json.Unmarshal(e.in.ID, &id) // another id is not one of ours
	names, ok := face.ParseHandle(id, 3)
	if !ok {
		return nil
	}
	key, who, err := e.key(names[0])
	if err != nil {
		return err
	}
	row, err := e.Engine().Run(e.r.Context(), key, names[1])
	if err != nil {
		return err
	}
	_, err = e.respond(e.r.Context(), key, who.Caller, row, func(q *face.Question) *event.Part {
		switch {
		case q.ID != names[2]:
			return nil
		case len(e.in.Result) == 0: // the client could not ask
			return q.Decline()
		}
		return replyTo(q, e.in.Result, e.version)
	})
	return err
}
