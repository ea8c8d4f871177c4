package agentcore

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// invocation is the body of a request. The runtime passes on what its client sends.
type invocation struct {
	prompt  string
	message *event.Content
	stream  bool
	// thread and run are there in the input of AG-UI.
	thread, run bool
}

func readInvocation(doc []byte) (*invocation, error) {
	in := &invocation{}
	err := wire.Decode(doc, func(r *wire.Reader) error {
		return r.Object(func(name string) error {
			switch name {
			case "prompt":
				return r.String(&in.prompt)
			case "input":
				if r.Kind() == '"' {
					return r.String(&in.prompt)
				}
				return r.Object(func(name string) error {
					if name == "prompt" {
						return r.String(&in.prompt)
					}
					return r.Skip()
				})
			case "newMessage":
				in.message = &event.Content{}
				return r.Value(in.message)
			case "stream", "streaming":
				return r.Bool(&in.stream)
			case "threadId":
				in.thread = true
			case "runId":
				in.run = true
			}
			return r.Skip()
		})
	})
	return in, err
}

// invoke starts a run, and answers with what the agent says, or with the events of the
// run as they arrive.
func (h *handler) invoke(w http.ResponseWriter, r *http.Request) error {
	doc, err := h.Body(w, r)
	if err != nil {
		return err
	}
	in, err := readInvocation(doc)
	if err != nil {
		return err
	}
	if in.thread && in.run && h.agui != nil {
		return h.agui(w, again(r, doc))
	}
	if in.message == nil && in.prompt != "" {
		in.message = &event.Content{Role: event.RoleUser, Parts: []*event.Part{{Text: in.prompt}}}
	}
	if in.message == nil {
		return wire.Missing("prompt")
	}
	req, err := h.request(r, in, doc)
	if err != nil {
		return err
	}
	w.Header().Set(sessionHeader, req.Key.ID)
	started, err := face.Start(r.Context(), h, req, nil)
	if err != nil {
		return h.About(req.Key, err)
	}
	reader := started.Read()
	defer reader.Close()
	if req.Stream {
		return h.stream(w, r, reader, started)
	}
	steps, row, err := face.Collect(r.Context(), reader)
	switch {
	case r.Context().Err() != nil:
		h.Disconnected(r, started)
		return nil
	case err != nil:
		return h.About(req.Key, err)
	}
	return h.answer(w, r, steps, row)
}

// request returns the run of an invocation. Without a session, it has a new one.
func (h *handler) request(r *http.Request, in *invocation, doc []byte) (run.Request, error) {
	who, err := h.Identify(r, "")
	if err != nil {
		return run.Request{}, err
	}
	key := session.Key{App: r.PathValue("app"), User: who.User, ID: r.Header.Get(sessionHeader)}
	once := r.Header.Get("Idempotency-Key")
	if once != "" {
		if err := session.CheckIdentifier("idempotency key", once); err != nil {
			return run.Request{}, err
		}
	}
	switch {
	case key.ID != "":
	case once != "": // the same one for a request that is repeated
		key.ID = face.RunID("agentcore", session.Key{App: key.App, User: key.User}, "session "+once)
	default:
		key.ID = ident.Session()
	}
	if err := key.Check(); err != nil {
		return run.Request{}, err
	}
	req := run.Request{
		Key: key, Caller: who.Caller, Message: in.message,
		Stream: in.stream || strings.Contains(r.Header.Get("Accept"), sse.MediaType),
	}
	if once != "" {
		req.ID, req.IdempotencyKey, req.Fingerprint = face.RunID("agentcore", key, once), "agentcore:"+once, face.Fingerprint(doc)
	}
	return req, nil
}

// result is the answer to an invocation.
type result struct {
	Response  string     `json:"response"`
	Status    string     `json:"status"`
	Session   string     `json:"sessionId"`
	Run       string     `json:"runId"`
	Questions []question `json:"questions,omitempty"`
}

// question is a call that the run waits for. A functionResponse with its id and name in
// the newMessage of another invocation answers it.
type question struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	Kind    string          `json:"kind"`
	Message string          `json:"message,omitempty"`
	URL     string          `json:"authUri,omitempty"`
}

// answer answers with the end of a run.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, steps []face.Step, row *session.Run) error {
	res := result{Response: spoken(steps), Status: "success", Session: row.Key.ID, Run: row.ID}
	switch {
	case row.Status == session.Cancelled:
		return &face.Problem{Status: http.StatusConflict, Message: "The run was cancelled"}
	case row.Failure != nil:
		return &face.Problem{Status: http.StatusInternalServerError, Message: row.Failure.Message}
	case row.Status == session.Waiting:
		res.Status = "input_required"
		open, err := h.Engine().OpenCalls(r.Context(), row.Key)
		if err != nil {
			return err
		}
		for _, call := range open {
			q := question{ID: call.ID, Name: call.Name, Args: call.Args, Kind: "result"}
			if asked := face.QuestionIn(call); asked != nil {
				q.Kind, q.Message, q.URL = string(asked.Kind), asked.Message, asked.AuthURI
			}
			res.Questions = append(res.Questions, q)
		}
	}
	return respond(w, res)
}

// spoken returns what the agents have said after their last call of a tool, or before it
// if they have said nothing after it.
func spoken(steps []face.Step) string {
	var before, after []string
	for i := range steps {
		switch s := &steps[i]; {
		case s.Kind == face.TextEnd && s.Author != event.User && s.Text != "":
			after = append(after, s.Text)
		case s.Kind == face.Result && len(after) > 0:
			before, after = after, nil
		}
	}
	if len(after) == 0 {
		after = before
	}
	return strings.Join(after, "\n\n")
}

// stream sends the events of a run as they arrive, like /run_sse.
func (h *handler) stream(w http.ResponseWriter, r *http.Request, reader *run.Reader, started *run.Run) error {
	defer h.Streaming()()
	ctx, cancel := h.UntilExpiry(r)
	defer cancel()
	out := sse.New(w, r)
	err := sse.Follow(ctx, out, reader, func(item run.Item) error { return out.Data(item.JSON) }) //nolint:contextcheck // ctx is that of the request, with a deadline
	switch {
	case errors.Is(err, io.EOF):
		row := reader.Run()
		err = run.Refusal(row)
		if f := row.Failure; err == nil && f != nil && !f.Reported {
			_ = out.Data(failure(f.Message)) // the client may have disconnected
			return nil
		}
		if err == nil {
			out.Open()
			return nil
		}
	case r.Context().Err() != nil, errors.Is(err, sse.ErrGone):
		h.Disconnected(r, started)
		return nil
	case errors.Is(context.Cause(ctx), face.ErrExpired): //nolint:contextcheck // as above
		err = face.ErrExpired
	}
	if !out.Opened() {
		return h.About(started.Key(), err)
	}
	_ = out.Data(failure(h.Explain(err, started.Key()).Message)) // the client may have disconnected
	return nil
}

// failure returns the last frame of a stream that has failed.
func failure(message string) []byte { return append(wire.Quote([]byte(`{"error":`), message), '}') }
