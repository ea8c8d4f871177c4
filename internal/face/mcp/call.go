package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/session"
)

// toolName returns the name of the tool of an application. Names of tools have fewer
// characters than those of applications.
func toolName(app string) string {
	name := notInNames.ReplaceAllString(app, "_")
	return name[:min(len(name), 128)]
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

// Properties of the arguments of the tool, and the schema of its result.
const (
	sessionProperty = `"session":{"type":"string","description":"The session of an earlier result, to continue its conversation. Leave it out to begin a new one."}`
	answersProperty = `"answers":{"type":"object","description":"Answers of the user to the questions of an earlier result, by their ids. Needs the session. A confirmation can only be refused, with false."}`
	messageProperty = `"message":{"type":"string","description":"What to say to the agent. May be empty with a session, to read what became of it, and with answers."}`
	outputSchema    = `{"type":"object","properties":{"session":{"type":"string"},"run":{"type":"string"},"text":{"type":"string"},` +
		`"questions":{"type":"array","items":{"type":"object"}}},"required":["session","run"]}`
)

// inputSchema returns the schema of the arguments. An agent with a schema of its own
// has that, and the session.
func inputSchema(own json.RawMessage) json.RawMessage {
	var schema map[string]json.RawMessage
	if len(own) == 0 || json.Unmarshal(own, &schema) != nil || schema == nil {
		return json.RawMessage(`{"type":"object","properties":{` + messageProperty + "," + sessionProperty + "," + answersProperty + `},"required":["message"]}`)
	}
	properties := map[string]json.RawMessage{}
	_ = json.Unmarshal(schema["properties"], &properties) // it may have none
	for _, one := range []string{sessionProperty, answersProperty} {
		var more map[string]json.RawMessage
		_ = json.Unmarshal([]byte("{"+one+"}"), &more)
		for name, value := range more {
			if properties[name] == nil {
				properties[name] = value
			}
		}
	}
	schema["type"] = json.RawMessage(`"object"`)
	var err error
	if schema["properties"], err = json.Marshal(properties); err != nil {
		return own
	}
	doc, err := json.Marshal(schema)
	if err != nil {
		return own
	}
	return doc
}

// listTools lists the one tool.
func (e *exchange) listTools() (any, error) {
	description, err := e.Describe(e.app)
	if err != nil {
		return nil, err
	}
	if description == "" {
		description = "Sends a message to the agent " + e.app + "."
	}
	return e.cacheable(map[string]any{"tools": []any{map[string]any{
		"name": toolName(e.app), "description": description,
		"inputSchema": inputSchema(e.InputSchema(e.app)), "outputSchema": json.RawMessage(outputSchema),
	}}}, listTTL), nil
}

// arguments are those of the tool.
type arguments struct {
	message string
	session string
	answers map[string]json.RawMessage
}

// readArguments decodes the arguments of a call. own says that the agent has a schema:
// its message is all arguments but those of the server.
func readArguments(doc json.RawMessage, own bool) (*arguments, error) {
	members := map[string]json.RawMessage{}
	if len(doc) > 0 && string(doc) != "null" {
		if err := json.Unmarshal(doc, &members); err != nil {
			return nil, invalid("Invalid arguments: they must be an object")
		}
	}
	a := &arguments{}
	if raw := members["session"]; raw != nil && json.Unmarshal(raw, &a.session) != nil {
		return nil, invalid("Invalid arguments: session must be a text")
	}
	if raw := members["answers"]; raw != nil && json.Unmarshal(raw, &a.answers) != nil {
		return nil, invalid("Invalid arguments: answers must be an object")
	}
	if !own {
		if raw := members["message"]; raw != nil && json.Unmarshal(raw, &a.message) != nil {
			return nil, invalid("Invalid arguments: message must be a text")
		}
		return a, nil
	}
	delete(members, "session")
	delete(members, "answers")
	if len(members) == 0 && a.session != "" {
		return a, nil
	}
	text, err := json.Marshal(members)
	a.message = string(text)
	return a, err
}

// callParams are the parameters of tools/call.
type callParams struct {
	Name      string                     `json:"name"`
	Arguments json.RawMessage            `json:"arguments"`
	Responses map[string]json.RawMessage `json:"inputResponses"`
	State     string                     `json:"requestState"`
}

// callTool sends a message to the agent, or the answers to its questions.
func (e *exchange) callTool() (any, error) {
	var p callParams
	if err := e.params(&p); err != nil {
		return nil, err
	}
	if p.Name != toolName(e.app) {
		return nil, invalid("Unknown tool: %s", p.Name)
	}
	args, err := readArguments(p.Arguments, len(e.InputSchema(e.app)) > 0)
	if err != nil {
		return nil, err
	}
	if e.modern && p.State != "" {
		return e.resume(p)
	}
	key, who, err := e.key(args.session)
	if err != nil {
		return nil, err
	}
	if args.session != "" {
		if err := key.Check(); err != nil {
			return nil, invalid("Invalid arguments: %v", err)
		}
	}
	started, err := e.start(key, who.Caller, args)
	if err != nil {
		if e.r.Context().Err() != nil {
			return nil, err
		}
		return e.refused(key, err)
	}
	e.early = p.Responses
	return e.finish(started)
}

// finish returns the result of a run, or its task.
func (e *exchange) finish(started *run.Run) (any, error) {
	if e.modern && e.can.tasks() {
		return e.soon(started)
	}
	return e.follow(started)
}

// refused returns the result of a call that the server has refused, for the model that
// made it. Failures of the server itself are errors of the protocol.
func (e *exchange) refused(key session.Key, err error) (any, error) {
	if _, ok := errors.AsType[*rpcError](err); ok {
		return nil, err
	}
	if errors.Is(err, session.ErrNotFound) {
		return failure(`There is no session "` + key.ID + `". Leave the session out to begin a new conversation.`), nil
	}
	p := e.Explain(err, key)
	if p.Status >= http.StatusInternalServerError {
		return nil, err
	}
	return failure(p.Message), nil
}

// start starts the run of a call, or finds the one that it repeats or continues.
func (e *exchange) start(key session.Key, caller string, args *arguments) (*run.Run, error) {
	ctx := e.r.Context()
	if args.session != "" && len(args.answers) > 0 {
		row, err := e.latest(key)
		if err != nil {
			return nil, err
		}
		if err := e.mayAnswer(key, args.answers); err != nil {
			return nil, err
		}
		next, err := e.respond(ctx, key, caller, row, func(q *face.Question) *event.Part {
			if value := args.answers[q.ID]; value != nil {
				return q.Reply(value)
			}
			return nil
		})
		if next == nil && err == nil {
			next, err = e.Engine().Find(ctx, key, row.ID)
		}
		return next, err
	}
	if args.message == "" {
		if args.session == "" {
			return nil, invalid("Invalid arguments: the message is missing")
		}
		row, err := e.latest(key)
		if err != nil {
			return nil, err
		}
		return e.Engine().Find(ctx, key, row.ID)
	}
	req := run.Request{Key: key, Caller: caller, Stream: true, Message: event.Text(event.RoleUser, args.message)}
	fresh := key.ID == ""
	if once := e.once(); once != "" {
		if fresh {
			req.Key.ID = face.RunID("mcp", key, "session "+once)
		}
		req.ID = face.RunID("mcp", req.Key, once)
		req.IdempotencyKey, req.Fingerprint = req.ID, face.Fingerprint(e.in.Params)
	}
	if !fresh {
		return e.Engine().Start(ctx, req)
	}
	if req.Key.ID == "" {
		req.Key.ID = ident.Session()
	}
	return face.Start(ctx, e, req, nil)
}

// once identifies a request that its client may repeat: by its header, or by its id in
// a session of the protocol. It is empty if the client does not.
func (e *exchange) once() string {
	if once := e.r.Header.Get("Idempotency-Key"); once != "" {
		return once
	}
	if e.connection != "" && !e.modern {
		return e.connection + " " + string(e.in.ID) + " " + face.Fingerprint(e.in.Params)
	}
	return ""
}

// latest returns the newest run of a session.
func (e *exchange) latest(key session.Key) (*session.Run, error) {
	rows, _, err := e.Engine().Runs(e.r.Context(), key, session.Page{Size: 1})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, invalid("The session has no run yet: send a message")
	}
	return rows[0], nil
}

// follow waits for the end of a run, and tells the client about its progress. A run
// that waits for an answer goes on if the client can give one.
func (e *exchange) follow(started *run.Run) (any, error) {
	defer e.Streaming()()
	ctx, cancel := e.UntilExpiry(e.r)
	defer cancel()
	call := e.calls.add(e.callID(string(e.in.ID)), started)
	defer call.forget()
	e.resumable(started)
	current := started
	var asked string
	for {
		got, row, err := e.read(ctx, current)
		if err != nil {
			return nil, e.broken(ctx, current, err)
		}
		if row.Status != session.Waiting {
			return got.result(row), nil
		}
		next, questions, err := e.resumption(ctx, row)
		if err == nil && next == nil {
			if asked == "" || len(questions) == 0 || questions[0].ID != asked {
				if e.modern || e.out == nil || len(questions) == 0 || e.request(questions[0]) == nil {
					return e.asks(got, row, questions)
				}
				asked = questions[0].ID
				ask := e.request(questions[0])
				if err := e.notify(ask.Method, face.Handle(row.Key.ID, row.ID, asked), ask.Params); err != nil {
					return nil, e.broken(ctx, current, sse.ErrGone)
				}
			}
			next, err = e.await(ctx, row)
		}
		if err != nil {
			return nil, e.broken(ctx, current, err)
		}
		if next.ID == row.ID { // it ended without an answer
			return got.result(next), nil
		}
		if current, err = e.Engine().Find(ctx, next.Key, next.ID); err != nil {
			return nil, err
		}
		call.is(current)
	}
}

// resumption returns the run that goes on after one that waits, or what that asks. The
// client may have sent the answers with the call.
func (e *exchange) resumption(ctx context.Context, row *session.Run) (*session.Run, []*face.Question, error) {
	next, err := e.Engine().Resumption(ctx, row)
	if next != nil || err != nil {
		return next, nil, err
	}
	early := e.early
	if e.early = nil; len(early) > 0 {
		_, who, err := e.key("")
		if err != nil {
			return nil, nil, err
		}
		started, err := e.respond(ctx, row.Key, who.Caller, row, func(q *face.Question) *event.Part { return replyTo(q, early[q.ID], e.version) })
		if err != nil {
			return nil, nil, err
		}
		if started != nil {
			next, err := e.Engine().Run(ctx, row.Key, started.ID())
			return next, nil, err
		}
	}
	questions, err := e.questions(ctx, row.Key)
	return nil, questions, err
}

// await waits for the run that resumes another one.
func (e *exchange) await(ctx context.Context, waiting *session.Run) (next *session.Run, err error) {
	reader := e.Engine().AwaitResumption(waiting)
	defer reader.Close()
	if e.out != nil {
		err = sse.Follow(ctx, e.out, reader, func(row *session.Run) error {
			next = row
			return io.EOF // any error ends it
		})
		if next != nil {
			return next, nil
		}
		return nil, err
	}
	return take(ctx, reader)
}

// take waits for the run that a reader returns.
func take(ctx context.Context, reader *run.Resumptions) (*session.Run, error) {
	for {
		row, ok, err := reader.Take(ctx)
		if ok || err != nil {
			return row, err
		}
		select {
		case <-reader.Ready():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// broken handles a client that has disconnected or whose token has expired.
func (e *exchange) broken(ctx context.Context, current *run.Run, err error) error {
	if e.r.Context().Err() != nil || errors.Is(err, sse.ErrGone) {
		e.Disconnected(e.r, current)
		return err
	}
	if errors.Is(context.Cause(ctx), face.ErrExpired) {
		return face.ErrExpired
	}
	return err
}

// read reads a run to its end.
func (e *exchange) read(ctx context.Context, started *run.Run) (*outcome, *session.Run, error) {
	reader := started.Read()
	defer reader.Close()
	t, got := &face.Transcript{}, &outcome{}
	var steps []face.Step
	take := func(item run.Item) error {
		var err error
		if steps, err = t.Item(steps[:0], item); err != nil {
			return err
		}
		for i := range steps {
			got.add(&steps[i])
			if err := e.progress(got, &steps[i]); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if e.out != nil {
		err = sse.Follow(ctx, e.out, reader, take)
	} else {
		for err == nil {
			var item run.Item
			if item, err = reader.Next(ctx); err == nil {
				err = take(item)
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	for _, step := range t.End(nil) {
		got.add(&step)
	}
	row := reader.Run()
	return got, row, run.Refusal(row)
}

// progress sends a piece of a text, if the client wants to know.
func (e *exchange) progress(got *outcome, s *face.Step) error {
	if s.Kind != face.TextDelta || len(e.meta.Progress) == 0 || e.out == nil || s.Author == event.User {
		return nil
	}
	got.sent += len(s.Text)
	return e.notify("notifications/progress", "", map[string]any{"progressToken": e.meta.Progress, "progress": got.sent, "message": s.Text})
}
