package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// metadataKey is the member of the metadata of a message with what its response needs.
const metadataKey = "openai"

// kept is what is stored with the message of a response.
type kept struct {
	Echo echo `json:"echo,omitempty"`
	// Input has the role and the number of parts of each message of the input.
	Input       []inputOf `json:"input,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	// ID is that of the response, if the platform has chosen it.
	ID string `json:"id,omitempty"`
}

type inputOf struct {
	Role  string `json:"role"`
	Parts int    `json:"parts"`
}

// ephemeralTTL is how long a session is kept that its client does not want to be
// stored, if the server ends before it deletes the session, or if the client may
// repeat the request.
const ephemeralTTL = time.Hour

// turn is a request that becomes a run.
type turn struct {
	handler
	r    *http.Request
	in   *request
	who  face.Identity
	req  run.Request
	kept kept
	// once is the idempotency key.
	once      string
	ephemeral bool
}

// begin prepares the run of a request. doc is its body.
func (h handler) begin(r *http.Request, in *request, doc []byte) (*turn, error) {
	app, err := h.app(r, in.model)
	if err != nil {
		return nil, err
	}
	named := in.user
	if h.hosted {
		named = "" // only the platform names users
	}
	who, err := h.Identify(r, named)
	if err != nil {
		return nil, err
	}
	t := &turn{handler: h, r: r, in: in, who: who, once: r.Header.Get("Idempotency-Key"), ephemeral: in.noStore}
	t.req = run.Request{
		Key: session.Key{App: app, User: who.User, ID: in.session}, Caller: who.Caller, Tools: in.tools,
		Stream: in.stream || in.background,
	}
	t.kept = kept{Echo: in.echo}
	if t.kept.ID = h.chosenID(r); t.kept.ID != "" {
		t.once = t.kept.ID // the run is found by it
	}
	if t.once != "" {
		if err := session.CheckIdentifier("idempotency key", t.once); err != nil {
			return nil, err
		}
		t.kept.Fingerprint = face.Fingerprint(doc)
		t.req.IdempotencyKey, t.req.Fingerprint = "openai:"+t.once, t.kept.Fingerprint
	}
	return t, nil
}

// place sets the session of the run. The same key is another run in another session.
func (t *turn) place(key session.Key) {
	t.req.Key = key
	if t.once != "" {
		t.req.ID = runID(key, t.once)
	}
}

// runID returns the id of the run of a request that has an idempotency key.
func runID(key session.Key, once string) string { return face.RunID("openai", key, once) }

// newID returns the id of a new session: the same for a request that is repeated.
func (t *turn) newID() string {
	if t.once != "" {
		return runID(session.Key{App: t.req.Key.App, User: t.who.User}, "session "+t.once)
	}
	return ident.Session()
}

// start starts the run, in the session that the request names, in a fork of it, or in
// a new one.
func (t *turn) start() (*run.Run, error) {
	ctx := t.r.Context()
	key := t.req.Key
	if t.in.previous == "" && key.ID == "" {
		key.ID = t.newID()
		t.place(key)
		return t.startNew(ctx)
	}
	t.ephemeral = false
	if t.in.previous == "" {
		if err := key.Check(); err != nil {
			return nil, err
		}
		t.place(key)
		if earlier, err := t.repeated(ctx); earlier != nil || err != nil {
			return earlier, err
		}
		if _, err := t.Sessions().Get(ctx, t.req.Key, session.Read{NoEvents: true}); errors.Is(err, session.ErrNotFound) {
			return t.startNew(ctx)
		}
		return t.startIn(ctx)
	}
	return t.startAfter(ctx)
}

// repeated returns the run that the request repeats, or nil.
func (t *turn) repeated(ctx context.Context) (*run.Run, error) {
	if t.once == "" {
		return nil, nil
	}
	row, err := t.Engine().Run(ctx, t.req.Key, t.req.ID)
	if errors.Is(err, session.ErrRunNotFound) || errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if k := t.handler.kept(ctx, row); k != nil && k.Fingerprint != t.kept.Fingerprint {
		return nil, session.ErrReused
	}
	return t.Engine().Find(ctx, t.req.Key, row.ID)
}

// startNew starts the run in a new session with the history of the client.
func (t *turn) startNew(ctx context.Context) (*run.Run, error) {
	if earlier, err := t.repeated(ctx); earlier != nil || err != nil {
		return earlier, err
	}
	history, fresh := split(t.in.items)
	events, open := past(history, fresh, t.Root(t.req.Key.App))
	names := map[string]*run.OpenCall{}
	for _, ev := range events {
		for _, call := range ev.FunctionCalls() {
			names[call.ID] = &run.OpenCall{ID: call.ID, Name: call.Name}
		}
	}
	if err := t.compose(fresh, names); err != nil {
		return nil, err
	}
	made := session.NewSession{Key: t.req.Key}
	if t.ephemeral {
		made.TTL = ephemeralTTL
	}
	if _, err := t.Engine().CreateWaiting(ctx, made, events, open); err != nil && !errors.Is(err, session.ErrExists) {
		return nil, err
	}
	return t.Engine().Start(ctx, t.req)
}

// startIn starts the run in a session that exists.
func (t *turn) startIn(ctx context.Context) (*run.Run, error) {
	_, fresh := split(t.in.items)
	open := map[string]*run.OpenCall{}
	for _, it := range fresh {
		if it.kind == messageType {
			continue
		}
		calls, err := t.Engine().OpenCalls(ctx, t.req.Key)
		if err != nil {
			return nil, err
		}
		for _, call := range calls {
			open[call.ID] = call
		}
		break
	}
	if err := t.compose(fresh, open); err != nil {
		return nil, err
	}
	return t.Engine().Start(ctx, t.req)
}

// startAfter starts the run after an earlier response: in its session if it is the
// last one there, otherwise in a fork.
func (t *turn) startAfter(ctx context.Context) (*run.Run, error) {
	if t.req.Key.ID != "" {
		return nil, problem("previous_response_id", "A request has either a previous_response_id or a conversation")
	}
	app := t.req.Key.App
	key, id, err := t.locate(ctx, t.in.previous, t.who.User)
	if _, unknown := errors.AsType[*face.Problem](err); unknown {
		return nil, missingPrevious(t.in.previous)
	}
	if err != nil {
		return nil, err
	}
	if key.App != app {
		return nil, problem("previous_response_id", "The previous response is of the model %s", key.App)
	}
	fork := session.Key{App: app, User: key.User, ID: t.newID()}
	for _, place := range []session.Key{key, fork} {
		t.place(place)
		if earlier, err := t.repeated(ctx); earlier != nil || err != nil {
			return earlier, err
		}
	}
	row, err := t.Engine().Run(ctx, key, id)
	if err != nil {
		if errors.Is(err, session.ErrRunNotFound) || errors.Is(err, session.ErrNotFound) {
			return nil, missingPrevious(t.in.previous)
		}
		return nil, err
	}
	last, err := t.isLast(ctx, key, id)
	if err != nil {
		return nil, err
	}
	if last {
		t.place(key)
		if row.Status.Ended() {
			t.req.Busy = session.Reject // another request continues from the same response
		}
		// Only one run follows a response in its session, also if another request has
		// been answered since isLast.
		whole := t.req
		t.req.IdempotencyKey, t.req.Fingerprint = "openai-after:"+id, ident.Session()
		if t.once != "" {
			t.req.Fingerprint = face.Fingerprint([]byte(t.once + " " + t.kept.Fingerprint))
		}
		started, err := t.startIn(ctx)
		if _, busy := errors.AsType[*session.BusyError](err); !busy && !errors.Is(err, session.ErrReused) {
			return started, err
		}
		t.req.IdempotencyKey, t.req.Fingerprint, t.req.Busy = whole.IdempotencyKey, whole.Fingerprint, ""
	}
	if !row.Status.Ended() {
		return nil, &face.Problem{Status: http.StatusConflict, Message: "The previous response is in progress, and another one follows it already", Param: "previous_response_id"}
	}
	end, err := t.lastEvent(ctx, row)
	if err != nil {
		return nil, err
	}
	if _, err := t.Engine().Fork(ctx, key, run.Cut{AtEvent: end}, fork.ID); err != nil && !errors.Is(err, session.ErrExists) {
		return nil, err
	}
	t.place(fork)
	return t.startIn(ctx)
}

func missingPrevious(id string) error {
	return &face.Problem{Status: http.StatusNotFound, Message: "Previous response not found: " + id, Code: "previous_response_not_found", Param: "previous_response_id"}
}

// recentRuns is how many runs are searched for the last one that has events.
const recentRuns = 20

// isLast reports whether a run is the last one of its session.
func (t *turn) isLast(ctx context.Context, key session.Key, id string) (bool, error) {
	rows, _, err := t.Engine().Runs(ctx, key, session.Page{Size: recentRuns})
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if row.First != 0 || !row.Status.Ended() {
			return row.ID == id, nil
		}
	}
	return false, nil
}

// lastEvent returns the id of the last event of a run.
func (t *turn) lastEvent(ctx context.Context, row *session.Run) (string, error) {
	events, err := t.events(ctx, row)
	if err != nil {
		return "", err
	}
	return events[len(events)-1].ID, nil
}

// compose makes the message of the run. open has the calls that it may answer.
func (t *turn) compose(fresh []*item, open map[string]*run.OpenCall) error {
	message := &event.Content{Role: event.RoleUser}
	if t.in.instructions != "" {
		message.Parts = append(message.Parts, &event.Part{Text: t.in.instructions})
		t.kept.Input = append(t.kept.Input, inputOf{"", 1})
	}
	for _, it := range fresh {
		parts, role := it.parts, it.role
		if it.kind != messageType {
			answer, err := answerWith(it, open[it.call])
			if err != nil {
				return err
			}
			parts, role = []*event.Part{answer}, outputType
			for _, p := range it.parts {
				if !p.IsText() {
					parts = append(parts, p)
				}
			}
		}
		message.Parts = append(message.Parts, parts...)
		t.kept.Input = append(t.kept.Input, inputOf{role, len(parts)})
	}
	if len(fresh) == 0 || len(message.Parts) == 0 {
		return problem("input", "The input has no new message: the last item must be a message of the user, or the output of a call")
	}
	doc, err := json.Marshal(t.kept)
	if err != nil {
		return err
	}
	t.req.Message, t.req.MessageMetadata = message, map[string]json.RawMessage{metadataKey: doc}
	return nil
}

// answerWith returns the answer of an item to a call that waits.
func answerWith(it *item, open *run.OpenCall) (*event.Part, error) {
	if open == nil {
		return nil, problem("input", "No call waits for an output with the call_id %s", it.call)
	}
	q := face.QuestionIn(open)
	if q == nil {
		text := it.text()
		if it.value != nil {
			text = string(it.value)
		}
		return &event.Part{FunctionResponse: &event.FunctionResponse{ID: open.ID, Name: open.Name, Response: face.WrapText(text)}}, nil
	}
	part := q.Reply(it.reply())
	if part == nil {
		return nil, problem("input", `The answer to %s must be {"approved": true} or {"approved": false}`, it.call)
	}
	return part, nil
}
