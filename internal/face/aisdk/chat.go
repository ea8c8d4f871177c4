package aisdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// chat is a request to continue a chat.
type chat struct {
	*server
	in     *request
	key    session.Key
	caller string
	// after queues the message after a run that the same request has started.
	after bool
}

// start starts the run that the client asks for, or returns the one that an earlier
// request has started.
func (c *chat) start(ctx context.Context) (*run.Run, error) {
	if c.in.answers() {
		return c.answer(ctx)
	}
	last := c.in.last()
	if last.Role != roleUser {
		return nil, &wire.Error{Type: "value_error", Path: []any{"messages"}, Msg: "The last message must be one of the user"}
	}
	content, err := last.content(len(c.in.Messages) - 1)
	if err != nil {
		return nil, err
	}
	if len(content.Parts) == 0 {
		return nil, &wire.Error{Type: "value_error", Path: []any{"messages", len(c.in.Messages) - 1, "parts"}, Msg: "The message must have a text or a file"}
	}
	if err := c.decideFirst(ctx); err != nil {
		return nil, err
	}
	return c.message(ctx, last.ID, content)
}

// decideFirst runs decisions about calls that the client sends together with a message
// of the user. The message is queued after their run.
func (c *chat) decideFirst(ctx context.Context) error {
	if c.in.Trigger != submit || !c.in.decides() {
		return nil
	}
	content, err := c.answers(ctx)
	if err != nil || len(content.Parts) == 0 {
		return err
	}
	_, err = c.respond(ctx, c.answerID(), content)
	c.after = true
	return err
}

// message runs a message of the user, unless it runs already or has run. If the
// message has another content than before, or its answer is to be generated again,
// the session is rewound to before its run.
func (c *chat) message(ctx context.Context, id string, content *event.Content) (*run.Run, error) {
	first := face.MessageID(id)
	again := c.in.Trigger == regenerate
	var started *run.Run
	if !again || first == "" {
		var err error
		started, err = c.run(ctx, first, content)
		if first == "" || err == nil && !started.Repeat || err != nil && !errors.Is(err, session.ErrReused) {
			return started, err
		}
	}
	runs, err := c.runsOf(ctx, first)
	if err != nil {
		return nil, err
	}
	switch {
	case len(runs.all) == 0 && started != nil:
		return started, nil // it is queued
	case runs.visible == nil:
		return c.run(ctx, runs.next(first), content)
	case !again:
		started, err := c.run(ctx, runs.visible.ID, content)
		if !errors.Is(err, session.ErrReused) {
			return started, err
		}
	case c.in.MessageID != "" && c.in.MessageID != runs.visible.InvocationID && slices.Contains(runs.all, c.in.MessageID):
		return c.Engine().Find(ctx, c.key, runs.visible.InvocationID) // the request is repeated
	}
	if err := c.rewind(ctx, runs.visible.InvocationID); err != nil {
		return nil, err
	}
	return c.run(ctx, runs.next(first), content)
}

// run starts the run of a message whose event has an id.
func (c *chat) run(ctx context.Context, id string, content *event.Content) (*run.Run, error) {
	doc, err := content.MarshalJSON()
	if err != nil {
		return nil, err
	}
	req := run.Request{Key: c.key, Caller: c.caller, Message: content, Stream: true, Tools: c.in.Tools, MessageID: id}
	if c.after {
		req.Busy = session.Enqueue
	}
	if id != "" {
		req.ID = face.RunID(name, c.key, id)
		req.IdempotencyKey, req.Fingerprint = req.ID, face.Fingerprint(doc)
	}
	return face.Start(ctx, c.Host, req, c.history)
}

// messageRuns are the runs of one message of the user: more than one if its answer was
// generated again.
type messageRuns struct {
	all     []string
	visible *event.Event // the message in the one that is not rewound; nil if all are
}

// rerun separates the id of a message and the number of the run.
const rerun = "~"

// runsOf finds the runs of a message in the log.
func (c *chat) runsOf(ctx context.Context, id string) (*messageRuns, error) {
	runs := &messageRuns{}
	s, err := c.Sessions().Get(ctx, c.key, session.Read{})
	if errors.Is(err, session.ErrNotFound) {
		return runs, nil
	}
	if err != nil {
		return nil, err
	}
	seen := map[int64]bool{}
	for _, entry := range s.Seen() {
		seen[entry.Seq] = true
	}
	for _, entry := range s.Entries {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		number, found := strings.CutPrefix(ev.ID, id)
		if number, ok := strings.CutPrefix(number, rerun); found && ok {
			_, err := strconv.Atoi(number)
			found = err == nil
		} else if ev.ID != id {
			found = false
		}
		if !found {
			continue
		}
		runs.all = append(runs.all, ev.InvocationID)
		if seen[entry.Seq] {
			runs.visible = ev
		}
	}
	return runs, nil
}

// next returns the id of the event of the next run of a message.
func (r *messageRuns) next(id string) string {
	if len(r.all) == 0 {
		return id
	}
	return id + rerun + strconv.Itoa(len(r.all))
}

// rewind resets the session to before a run. It cancels the active run first: a client
// that stops reading a run does not cancel it.
func (c *chat) rewind(ctx context.Context, id string) error {
	active, err := c.active(ctx, c.key)
	if err != nil {
		return err
	}
	for _, row := range active {
		if _, err := c.Engine().Cancel(ctx, c.key, row.ID); err != nil {
			return err
		}
	}
	for _, row := range active {
		one, err := c.Engine().Find(ctx, c.key, row.ID)
		if err != nil {
			return err
		}
		if _, err := one.Wait(ctx); err != nil && !errors.Is(err, run.ErrCancelled) {
			return err
		}
	}
	_, err = c.Engine().Rewind(ctx, c.key, id)
	return err
}

// history returns the messages of the client before the last one, for a session that
// does not exist: texts and files, since a client cannot prove what tools have
// returned.
func (c *chat) history() []*event.Event {
	var events []*event.Event
	for i := range len(c.in.Messages) - 1 {
		m := &c.in.Messages[i]
		content, err := m.content(i)
		if err != nil || len(content.Parts) == 0 || m.Role != roleUser && m.Role != roleAssistant {
			continue
		}
		ev := &event.Event{ID: face.MessageID(m.ID), InvocationID: "history-" + strconv.Itoa(i), Author: event.User, Content: content}
		if m.Role == roleAssistant {
			ev.Author = c.Root(c.key.App)
		}
		events = append(events, ev)
	}
	return events
}

// answer runs the answers of the client to what the session waits for.
func (c *chat) answer(ctx context.Context) (*run.Run, error) {
	id := c.answerID()
	content, err := c.answers(ctx)
	if err != nil {
		return nil, err
	}
	if len(content.Parts) == 0 { // the request may be repeated
		found, err := c.Engine().Find(ctx, c.key, id)
		if errors.Is(err, session.ErrRunNotFound) || errors.Is(err, session.ErrNotFound) {
			err = fmt.Errorf("%w: the messages have neither a new message of the user nor an answer", run.ErrUnknownCall)
		}
		return found, err
	}
	return c.respond(ctx, id, content)
}

// answers returns the answers of the client to what the session waits for.
func (c *chat) answers(ctx context.Context) (*event.Content, error) {
	open, err := c.Engine().OpenCalls(ctx, c.key)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return nil, err
	}
	given := c.given()
	content := &event.Content{Role: event.RoleUser}
	for _, call := range open {
		p, err := given.answer(call)
		if err != nil {
			return nil, err
		}
		if p != nil {
			content.Parts = append(content.Parts, p)
		}
	}
	return content, nil
}

// respond starts the run of answers.
func (c *chat) respond(ctx context.Context, id string, content *event.Content) (*run.Run, error) {
	return c.Engine().Start(ctx, run.Request{
		ID: id, IdempotencyKey: id, Fingerprint: id, Key: c.key, Caller: c.caller, Message: content, Stream: true, Tools: c.in.Tools,
	})
}

// answerID returns the id of the run that the answers start. It is the same if the
// request is repeated, and another one for later answers in the same message.
func (c *chat) answerID() string {
	var b strings.Builder
	for i := range c.in.Messages {
		for _, p := range c.in.Messages[i].Parts {
			switch {
			case p.State == responded && p.Approval != nil:
				fmt.Fprintf(&b, "%q %v,", p.Approval.ID, p.Approval.Approved)
			case p.State == available || p.State == outputError:
				fmt.Fprintf(&b, "%q,", p.CallID)
			}
		}
	}
	b.Write(encode(c.in.Answers))
	return face.RunID(name, c.key, "answers "+b.String())
}

// given are the answers in a request: parts of tools by the ids of their calls, and
// of their approvals; and values by the ids of questions.
type given struct {
	parts  map[string]*part
	values map[string]json.RawMessage
}

func (c *chat) given() given {
	g := given{parts: map[string]*part{}, values: c.in.Answers}
	for i := range c.in.Messages {
		if c.in.Messages[i].Role != roleAssistant {
			continue
		}
		for j := range c.in.Messages[i].Parts {
			p := &c.in.Messages[i].Parts[j]
			switch {
			case p.State == responded && p.Approval != nil:
				g.parts[p.Approval.ID] = p
			case p.State == available || p.State == outputError:
				g.parts[p.CallID] = p
			}
		}
	}
	return g
}

// answer returns the answer to an open call; nil if there is none.
func (g given) answer(open *run.OpenCall) (*event.Part, error) {
	q, p, value := face.QuestionIn(open), g.parts[open.ID], g.values[open.ID]
	switch {
	case q != nil && value != nil:
		part := q.Reply(value)
		if part == nil {
			return nil, &wire.Error{Path: []any{"answers", open.ID}, Type: "value_error", Msg: `must be true, false, {"approved": true} or {"approved": false}`}
		}
		return part, nil
	case q != nil && q.Kind == face.Confirmation && p != nil && p.State == responded:
		if !p.Approval.Approved {
			return q.Refuse(p.Approval.Reason), nil
		}
		return q.Confirm(true, nil), nil
	}
	response := value
	switch {
	case response != nil:
	case q != nil || p == nil:
		return nil, nil
	case p.State == outputError:
		response = append(wire.Quote([]byte(`{"error":`), p.ErrorText), '}')
	default:
		response = p.Output
	}
	return &event.Part{FunctionResponse: &event.FunctionResponse{ID: open.ID, Name: open.Name, Response: face.Wrap(response)}}, nil
}
