package a2a

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// The members of the metadata of a message: what agents may read, and what the history
// of a task needs.
const (
	messageIDKey = "a2a:message_id"
	taskIDKey    = "a2a:task_id"
	contextIDKey = "a2a:context_id"
	textKey      = "a2a:text"     // of a message that answers a question
	metadataKey  = "a2a:metadata" // of the message
	// asMessage is set by an agent in an event, so that the answer to a request that
	// waits for it is a message, not a task.
	asMessage = "a2a:message"
)

// taskID returns the id of the task that began with a run.
func taskID(key session.Key, run string) string { return face.Handle(key.ID, run) }

// parseID returns the session of a task, which is one of the user who asks, and the run
// that it began with.
func parseID(id, app, user string) (session.Key, string, error) {
	names, ok := face.ParseHandle(id, 2)
	if !ok {
		return session.Key{}, "", notFound(id)
	}
	key := session.Key{App: app, User: user, ID: names[0]}
	if key.Check() != nil {
		return key, "", notFound(id)
	}
	return key, names[1], nil
}

// readTask reads a task of the caller.
func (x *exchange) readTask(id string) (session.Key, *face.Task, error) {
	key, first, err := parseID(id, x.app, x.who.User)
	if err != nil {
		return key, nil, err
	}
	t, err := face.ReadTask(x.ctx(), x.handler, key, first)
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrRunNotFound) {
		return key, nil, notFound(id)
	}
	return key, t, err
}

// sent is a message that has started a run, or repeated one.
type sent struct {
	key  session.Key
	id   string // of the task
	run  *run.Run
	task *face.Task // before the message; nil for a new task
}

// start starts the run of a message.
func (x *exchange) start(in *incoming, stream bool) (*sent, error) {
	// The same message is the same run. Some clients use an id again for another message.
	once := in.id + " " + in.fingerprint()
	s := &sent{id: in.task}
	if in.task != "" {
		var err error
		if s.key, s.task, err = x.readTask(in.task); err != nil {
			return nil, err
		}
		if in.context != "" && in.context != s.key.ID {
			return nil, invalid("message.contextId", "The task is in another context")
		}
	} else {
		s.key = session.Key{App: x.app, User: x.who.User, ID: in.context}
		if in.context == "" { // the same for a message that is repeated
			s.key.ID = face.RunID("a2a", session.Key{App: x.app, User: x.who.User}, once)
		}
		if err := s.key.Check(); err != nil {
			return nil, invalid("message.contextId", "%v", err)
		}
	}
	id := face.RunID("a2a", s.key, once)
	req := run.Request{
		Key: s.key, ID: id, IdempotencyKey: id,
		Caller: x.who.Caller, Stream: stream, Message: &event.Content{Role: event.RoleUser, Parts: in.parts},
		MessageMetadata: map[string]json.RawMessage{},
	}
	if s.id == "" {
		s.id = taskID(s.key, req.ID)
	}
	keep := func(name, text string) { req.MessageMetadata[name] = wire.Quote(nil, text) }
	keep(messageIDKey, in.id)
	keep(taskIDKey, s.id)
	keep(contextIDKey, s.key.ID)
	if len(in.metadata) > 0 {
		if doc, err := json.Marshal(in.metadata); err == nil {
			req.MessageMetadata[metadataKey] = doc
		}
	}
	if s.task != nil && s.task.Run(req.ID) == nil {
		text, err := x.answer(in, s.task, &req)
		if err != nil {
			return nil, err
		}
		if text != "" {
			keep(textKey, text)
		}
	}
	undo := func() {}
	if in.push != nil { // before the run begins, so that nothing of it is missed
		var err error
		if undo, err = x.addPush(s.key, s.id, in.push); err != nil {
			return nil, err
		}
	}
	var err error
	s.run, err = face.Start(x.ctx(), x.handler, req, nil)
	if err != nil {
		undo()
		return nil, x.About(s.key, err)
	}
	return s, nil
}

// fingerprint identifies the content of the message.
func (in *incoming) fingerprint() string {
	doc, err := json.Marshal([]any{in.context, in.task, in.parts})
	if err != nil {
		return ""
	}
	return face.Fingerprint(doc)
}

// answer makes the message of a request answer what a task waits for. It returns the
// text that has become the answer, if it has.
func (x *exchange) answer(in *incoming, t *face.Task, req *run.Request) (string, error) {
	status := t.Status()
	if status != session.Waiting {
		if status.Ended() {
			return "", fail(unsupported, "The task has ended: send the message without its id to begin another one in its context")
		}
		return "", fail(unsupported, "The task is working: send the message without its id, and it is answered next")
	}
	open, err := t.Open(x.ctx(), x.handler)
	if err != nil {
		return "", err
	}
	names := map[string]string{}
	for _, call := range open {
		names[call.ID] = call.Name
	}
	answered := false
	for _, p := range in.parts {
		if r := p.FunctionResponse; r != nil {
			answered = true
			if name := names[r.ID]; name != "" {
				r.Name = name
			}
		}
	}
	switch {
	case answered:
		return "", nil
	case len(open) == 0:
		return "", fail(unsupported, "What the task waited for has expired: send the message without its id")
	case len(open) > 1:
		return "", invalid("message.parts", "The task waits for several answers: send a data part with the metadata adk_type function_response for each call")
	}
	text := req.Message.Text()
	part, err := reply(open[0], in, text)
	if err != nil {
		return "", err
	}
	parts := []*event.Part{part}
	for _, p := range in.parts {
		if !p.IsText() {
			parts = append(parts, p)
		}
	}
	req.Message = &event.Content{Role: event.RoleUser, Parts: parts}
	if q := face.QuestionIn(open[0]); q != nil && q.Kind == face.Login {
		text = "" // it may be a secret
	}
	return text, nil
}

// reply returns the answer to a call that a message without its id is.
func reply(open *run.OpenCall, in *incoming, text string) (*event.Part, error) {
	q := face.QuestionIn(open)
	value := json.RawMessage(nil)
	if len(in.values) == 1 {
		value = in.values[0]
	}
	if q == nil {
		response := face.WrapText(text)
		if value != nil {
			response = face.Wrap(value)
		}
		return &event.Part{FunctionResponse: &event.FunctionResponse{ID: open.ID, Name: open.Name, Response: response}}, nil
	}
	switch {
	case value != nil:
	case q.Kind == face.Confirmation:
		value = decision(text)
	case q.Kind == face.Input:
		if value = face.WrapText(text); value == nil || q.Schema == nil {
			value = wire.Quote(nil, text)
		}
	default:
		value = wire.Quote(nil, strings.TrimSpace(text))
	}
	part := q.Reply(value)
	if part == nil {
		return nil, invalid("message.parts", `The task waits for a confirmation: answer yes or no, or send the data {"confirmed": true} or {"confirmed": false}`)
	}
	return part, nil
}

// decision returns the decision that a text is, nil if it is not one.
func decision(text string) json.RawMessage {
	switch strings.ToLower(strings.Trim(text, " \t\r\n.!")) {
	case "yes", "y", "true", "ok", "approve", "approved", "confirm", "confirmed":
		return json.RawMessage("true")
	case "no", "n", "false", "deny", "denied", "reject", "rejected", "cancel":
		return json.RawMessage("false")
	}
	return nil
}

// send answers a message with its task: when it waits or has ended, unless the client
// does not want to wait.
func (x *exchange) send(doc []byte) error {
	in, err := readMessage(doc, x.v)
	if err != nil {
		return err
	}
	s, err := x.start(in, false)
	if err != nil {
		return err
	}
	if !in.immediately {
		_, err := s.run.Wait(x.ctx())
		if x.ctx().Err() != nil {
			x.Disconnected(x.r, s.run)
			return nil //nolint:nilerr // the client cannot be told
		}
		if err != nil {
			return x.About(s.key, err)
		}
	}
	t, err := x.latest(s)
	if err != nil {
		return err
	}
	if m := x.direct(s, t); m != nil && !in.immediately {
		return x.reply(result(nil, x.v, "message", func(o *object) { o.message(m) }))
	}
	shown, err := x.view(x.ctx(), s.id, t, in.history, true)
	if err != nil {
		return err
	}
	return x.reply(taskResult(nil, x.v, shown))
}

// latest reads the task of a message. The run may be queued: then the log does not tell
// yet that it continues the task.
func (x *exchange) latest(s *sent) (*face.Task, error) {
	_, t, err := x.readTask(s.id)
	if err != nil || t.Run(s.run.ID()) != nil {
		return t, err
	}
	row, err := x.Engine().Run(x.ctx(), s.key, s.run.ID())
	if err != nil {
		return nil, err
	}
	t.Runs = append(t.Runs, row)
	return t, nil
}

// direct returns the message that an agent has answered with, in place of a task.
func (x *exchange) direct(s *sent, t *face.Task) *message {
	if len(t.Runs) != 1 || t.Status() != session.Completed {
		return nil
	}
	for _, ev := range t.Events {
		if string(ev.CustomMetadata[asMessage]) == "true" && ev.Author != event.User {
			return &message{id: ev.ID, context: s.key.ID, parts: messageParts(ev.Content)}
		}
	}
	return nil
}

// sendStreaming answers a message with the updates of its task.
func (x *exchange) sendStreaming(doc []byte) error {
	in, err := readMessage(doc, x.v)
	if err != nil {
		return err
	}
	s, err := x.start(in, true)
	if err != nil {
		return err
	}
	first, err := x.beginning(s, in)
	if err != nil {
		return err
	}
	reader := s.run.Read()
	defer reader.Close()
	return x.stream(s.key, s.id, first, reader, s.run, func(row *session.Run) bool { return x.managed(s.key, row) })
}

// beginning returns a task at the time when the run of a message begins. The frames that
// follow have everything of the run.
func (x *exchange) beginning(s *sent, in *incoming) (*task, error) {
	first := &task{id: s.id, context: s.key.ID}
	if s.task != nil && s.task.Run(s.run.ID()) == nil {
		var err error
		if first, err = x.view(x.ctx(), s.id, s.task, nil, true); err != nil {
			return nil, err
		}
	}
	row, err := x.Engine().Run(x.ctx(), s.key, s.run.ID())
	if err != nil {
		return nil, err
	}
	first.status = status{state: working, time: row.Created}
	if row.Status == session.Queued {
		first.status.state = submitted
	}
	first.history = limit(append(first.history, &message{
		id: in.id, task: s.id, context: s.key.ID, user: true, parts: messageParts(&event.Content{Parts: in.parts}),
	}), in.history)
	return first, nil
}

// managed reports whether a run waits only for logins that the user completes at this
// server, so that it goes on by itself.
func (x *exchange) managed(key session.Key, row *session.Run) bool {
	open, err := x.Engine().OpenCalls(x.ctx(), key)
	if err != nil || len(open) == 0 {
		return false
	}
	for _, call := range open {
		q := face.QuestionIn(call)
		if call.Run == row.ID && (q == nil || q.Kind != face.Login || !strings.HasPrefix(q.AuthURI, x.BaseURL(x.r)+"/")) {
			return false
		}
	}
	return true
}
