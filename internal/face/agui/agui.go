// Package agui serves AG-UI, the protocol of CopilotKit and others, in version 1.0
// and as clients before it expect.
package agui

import (
	"errors"
	"net/http"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

const path = "/apps/{app}/agui"

// New creates the face.
func New(h face.Host) *face.Face {
	f := handler{h}
	return &face.Face{
		Name: "agui", Title: "AG-UI", Path: path,
		Routes: []face.Route{
			{Method: "POST", Path: path, Scope: access.Run, Handler: f.run},
			{Method: "GET", Path: path, Scope: access.Read, Handler: f.follow},
			{Method: "POST", Path: path + "/cancel", Scope: access.Run, Handler: f.cancel},
			{Method: "GET", Path: path + "/capabilities", Scope: access.Read, Handler: f.capabilities},
		},
	}
}

type handler struct{ face.Host }

// contextKey is the key of the state with the context of the client, as other
// servers for ADK agents have it.
const contextKey = "_ag_ui_context"

// interruptError refuses a request that does not fit what the thread waits for. The
// protocol has it in a stream.
type interruptError struct{ message string }

func (e *interruptError) Error() string { return e.message }

// run answers a RunAgentInput with the events of a run.
func (h handler) run(w http.ResponseWriter, r *http.Request) error {
	doc, err := h.Body(w, r)
	if err != nil {
		return err
	}
	in, err := readInput(doc)
	if err != nil {
		return err
	}
	who, err := h.Identify(r, "")
	if err != nil {
		return err
	}
	key := session.Key{App: r.PathValue("app"), User: who.User, ID: in.thread}
	if err := key.Check(); err != nil {
		return err
	}
	started, tail, err := h.start(r, key, who.Caller, in, doc)
	if refused, ok := errors.AsType[*interruptError](err); ok {
		enc := h.encoder(r, key, in.run, in.version, nil)
		return sse.New(w, r).Send(enc.event(enc.Begin(nil), "RUN_ERROR", "", members(member("message", refused.message), member("code", "INTERRUPT"))))
	}
	if err != nil {
		return h.About(key, err)
	}
	reader := started.Read()
	defer reader.Close()
	return face.Stream(w, r, h, reader, &face.Transcript{}, h.encoder(r, key, in.run, in.version, tail.State), started)
}

// start starts the run of a request, or finds the one that it repeats.
func (h handler) start(r *http.Request, key session.Key, caller string, in *input, doc []byte) (*run.Run, *face.Tail, error) {
	ctx := r.Context()
	fresh := in.fresh()
	tail, err := face.ReadTail(ctx, h, key, len(fresh))
	if err != nil {
		return nil, nil, err
	}
	req := run.Request{
		Key: key, ID: face.RunID("agui", key, in.run), IdempotencyKey: "agui:" + in.run, Fingerprint: face.Fingerprint(doc),
		Caller: caller, Stream: true, Tools: in.tools, StateDelta: face.StateDelta(in.state, tail.State),
		Message: &event.Content{Role: event.RoleUser},
	}
	if err := session.CheckIdentifier("run id", req.IdempotencyKey); err != nil {
		return nil, nil, err
	}
	if len(in.context) > 2 && string(tail.State[contextKey]) != string(in.context) {
		req.StateDelta[contextKey] = in.context
	}
	earlier, err := h.message(r, key, in, fresh, tail, &req)
	if err != nil {
		return nil, nil, err
	}
	if earlier != nil {
		found, err := h.Engine().Find(ctx, key, earlier.ID)
		return found, tail, err
	}
	started, err := face.Start(ctx, h, req, in.history)
	if err != nil {
		return nil, nil, err
	}
	return started, tail, nil
}

// message fills in the message of a request: answers, and what the user has written.
// If the session has all of it, it returns the run that it started.
func (h handler) message(r *http.Request, key session.Key, in *input, fresh []message, tail *face.Tail, req *run.Request) (*session.Run, error) {
	var open []*run.OpenCall
	if tail.Waits() {
		var err error
		if open, err = h.Engine().OpenCalls(r.Context(), key); err != nil {
			return nil, err
		}
	}
	questions, calls := map[string]*face.Question{}, map[string]*run.OpenCall{}
	askedBy, id := map[string]string{}, req.ID
	for _, call := range open {
		if q := face.QuestionIn(call); q != nil {
			questions[call.ID], askedBy[call.ID] = q, call.Run
		} else {
			calls[call.ID] = call
		}
	}
	parts := &req.Message.Parts
	var earlier *session.Run
	for _, a := range in.resume {
		q := questions[a.id]
		if q == nil {
			if earlier = tail.AnsweredBy(a.id); earlier == nil {
				return nil, &interruptError{"No interrupt with the id " + a.id + " is open. It may have expired: send a message, and you are asked again if it is still needed."}
			}
			continue
		}
		part, err := answerTo(q, a)
		if err != nil {
			return nil, err
		}
		delete(questions, a.id)
		*parts = append(*parts, part)
		if req.ID == id && strings.HasPrefix(askedBy[a.id], id) {
			// CopilotKit answers with the id of the run that has asked. It is another run.
			req.ID = face.RunID(id, key, a.id)
			req.IdempotencyKey = req.ID
		}
	}
	if len(questions) > 0 && (len(in.resume) == 0 || len(*parts) > 0) {
		return nil, &interruptError{"The thread waits for answers to its open interrupts: send all of them in resume."}
	}
	for i := range fresh {
		m := &fresh[i]
		switch m.role {
		case "tool":
			if call := calls[m.call]; call != nil {
				*parts = append(*parts, &event.Part{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: m.result()}})
				delete(calls, m.call)
			} else if by := tail.AnsweredBy(m.call); by != nil {
				earlier = by
			}
		case "user", "system", "developer":
			if known := tail.Message(m.id); known != nil {
				if by := tail.Run(known.InvocationID); by != nil && by.Status != session.Failed && by.Status != session.Cancelled {
					earlier = by
					continue
				}
				if i == len(fresh)-1 {
					*parts = append(*parts, m.parts...) // once more: it has failed
				}
				continue
			}
			*parts = append(*parts, m.parts...)
			req.MessageID = face.MessageID(m.id)
		}
	}
	if len(*parts) > 0 {
		return nil, nil
	}
	if earlier == nil {
		return nil, &wire.Error{Path: []any{"messages"}, Type: "value_error", Msg: "There is no new message: the last one must be of the role user or tool, and have a content"}
	}
	return earlier, nil
}

// answerTo returns the answer to a question.
func answerTo(q *face.Question, a answer) (*event.Part, error) {
	if a.status == "cancelled" {
		return q.Decline(), nil
	}
	part := q.Reply(a.payload)
	if part == nil {
		return nil, &interruptError{"The answer to the interrupt " + a.id + ` needs a payload: {"approved": true} or {"approved": false}.`}
	}
	return part, nil
}

// follow streams a run that a client has started before, from the beginning or after
// the last event that it has seen.
func (h handler) follow(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	key, id, err := h.runOf(r, query.Get("threadId"), query.Get("runId"))
	if err != nil {
		return err
	}
	t := &face.Transcript{}
	position := r.Header.Get("Last-Event-ID")
	after := int64(0)
	if position != "" {
		if after, err = t.Resume(position); err != nil {
			return err
		}
	}
	reader, err := h.Engine().FollowAfter(r.Context(), key, id, after)
	if err != nil {
		return h.About(key, err)
	}
	defer reader.Close()
	s, err := h.Sessions().Get(r.Context(), key, session.Read{NoEvents: true})
	if err != nil {
		return err
	}
	enc := h.encoder(r, key, query.Get("runId"), query.Get("protocolVersion"), s.State)
	enc.continued, enc.speaker = position != "", t.Speaker()
	return face.Stream(w, r, h, reader, t, enc, nil)
}

// runOf returns the session and the id of a run that a client names: by its own id, or
// by that of the server.
func (h handler) runOf(r *http.Request, thread, id string) (session.Key, string, error) {
	for _, member := range []struct{ name, value string }{{"threadId", thread}, {"runId", id}} {
		if member.value == "" {
			return session.Key{}, "", wire.Missing(member.name)
		}
	}
	who, err := h.Identify(r, "")
	if err != nil {
		return session.Key{}, "", err
	}
	key := session.Key{App: r.PathValue("app"), User: who.User, ID: thread}
	if err := key.Check(); err != nil {
		return key, "", err
	}
	if err := session.CheckIdentifier("run id", id); err != nil {
		return key, "", err
	}
	own := face.RunID("agui", key, id)
	row, err := h.Engine().Run(r.Context(), key, own)
	if errors.Is(err, session.ErrRunNotFound) {
		return key, id, nil
	}
	for err == nil && strings.HasPrefix(row.ResumedBy, own) { // the client has answered with the same id
		row, err = h.Engine().Run(r.Context(), key, row.ResumedBy)
	}
	if err != nil {
		return key, own, h.About(key, err)
	}
	return key, row.ID, nil
}

// cancel cancels a run: a client that disconnects does not, unless it says so.
func (h handler) cancel(w http.ResponseWriter, r *http.Request) error {
	doc, err := h.Body(w, r)
	if err != nil {
		return err
	}
	in := &input{}
	if err := wire.Decode(doc, in.read); err != nil {
		return err
	}
	key, id, err := h.runOf(r, in.thread, in.run)
	if err != nil {
		return err
	}
	row, err := h.Engine().Cancel(r.Context(), key, id)
	if err != nil {
		return h.About(key, err)
	}
	doc = wire.Quote([]byte(`{"threadId":`), in.thread)
	doc = wire.Quote(append(doc, `,"runId":`...), in.run)
	doc = wire.Quote(append(doc, `,"status":`...), string(row.Status))
	return respond(w, append(doc, '}'))
}

// respond writes a document.
func respond(w http.ResponseWriter, doc []byte) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc) //nolint:gosec // it is JSON, and says so; a client that has disconnected cannot be told
	return nil
}

// capabilities describes what the application can do for clients.
func (h handler) capabilities(w http.ResponseWriter, r *http.Request) error {
	app := r.PathValue("app")
	description, err := h.Describe(app)
	if err != nil {
		return err
	}
	doc := wire.Quote([]byte(`{"identity":{"name":`), app)
	if description != "" {
		doc = wire.Quote(append(doc, `,"description":`...), description)
	}
	doc = append(doc, `},"transport":{"streaming":true,"websocket":false,"httpBinary":false,"pushNotifications":false,"resumable":true},`+
		`"tools":{"supported":true,"parallelCalls":true,"clientProvided":true},"state":{"snapshots":true,"deltas":true,"persistentState":true},`+
		`"reasoning":{"supported":true,"streaming":true},"humanInTheLoop":{"supported":true,"approvals":true,"interrupts":true,"approveWithEdits":true}}`...)
	return respond(w, doc)
}

// encoder returns the encoder of a run.
func (h handler) encoder(r *http.Request, key session.Key, run, version string, state session.State) *encoder {
	e := &encoder{thread: key.ID, run: run, current: version != "", state: state, keys: map[string]bool{}}
	for name := range state {
		if !tool.IsSecret(name) {
			e.keys[name] = true
		}
	}
	e.root = h.Root(key.App)
	e.messages = func() []byte {
		s, err := h.Sessions().Get(r.Context(), key, session.Read{})
		if err != nil {
			return nil
		}
		e.state = s.State
		return messages(s)
	}
	return e
}
