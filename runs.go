package parley

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// Request is a message to an agent.
type Request struct {
	App, User string
	// Session is the id of the session, which is created if it does not exist.
	// Empty means a new session; Run.Key has its id.
	Session string
	Message *event.Content
	// Stream asks for pieces of what the model says, as partial events.
	Stream bool
	// StateDelta changes the session's state together with the message.
	StateDelta map[string]json.RawMessage

	// OnBusy is what happens if the session has a run already; empty means as
	// Config says.
	OnBusy session.Policy
	// IdempotencyKey makes repetitions of a request the same run: a second one
	// with the same key, in the same session, starts nothing and returns the
	// first run. ErrReused if the second request is a different one.
	IdempotencyKey string
	// RunID is the id of the run, which must be unique among the runs of all
	// sessions; ErrExists if it is not. Empty means a new one.
	RunID string
}

// Start starts a run of an agent in process, without HTTP. If the session is
// busy, the run is queued; see Request.OnBusy.
//
// The run belongs to the session, not to the caller: it does not end with ctx,
// and need not be read. Cancel ends it.
func (s *Server) Start(ctx context.Context, req Request) (*Run, error) {
	started, err := s.start(ctx, req)
	if err != nil {
		return nil, public(err)
	}
	return &Run{started: started}, nil
}

func (s *Server) start(ctx context.Context, req Request) (*run.Run, error) {
	key := session.Key{App: req.App, User: req.User, ID: cmp.Or(req.Session, ident.Session())}
	if err := key.Check(); err != nil {
		return nil, err
	}
	wanted := run.Request{
		ID: req.RunID, Key: key, Message: req.Message, Stream: req.Stream, StateDelta: req.StateDelta, SaveFiles: s.cfg.Artifacts.SaveInput,
		Busy: cmp.Or(req.OnBusy, s.cfg.Sessions.OnBusy), IdempotencyKey: req.IdempotencyKey,
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	if req.IdempotencyKey != "" {
		var err error
		if wanted.Fingerprint, err = req.fingerprint(); err != nil {
			return nil, err
		}
	}
	if _, err := s.engine.Create(ctx, session.NewSession{Key: key}, nil); err != nil && !errors.Is(err, session.ErrExists) {
		return nil, err
	}
	return s.engine.Start(ctx, wanted)
}

// check refuses what the engine leaves to its callers to check.
func (r *Request) check() error {
	switch r.OnBusy {
	case "", session.Enqueue, session.Reject, session.Interrupt, session.Rollback:
	default:
		return invalid("OnBusy policy", "must be enqueue, reject, interrupt or rollback")
	}
	for _, id := range []struct{ what, id string }{{"idempotency key", r.IdempotencyKey}, {"run id", r.RunID}} {
		if id.id == "" {
			continue
		}
		if err := session.CheckIdentifier(id.what, id.id); err != nil {
			return err
		}
	}
	return nil
}

// fingerprint tells whether two requests with one idempotency key are the same.
func (r *Request) fingerprint() (string, error) {
	doc, err := json.Marshal(struct {
		Message    *event.Content
		Stream     bool
		StateDelta map[string]json.RawMessage
	}{r.Message, r.Stream, r.StateDelta})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

// Stream is Start, followed by Events. A request that is refused is an error of
// the sequence.
func (s *Server) Stream(ctx context.Context, req Request) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		started, err := s.Start(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		started.Events(ctx)(yield)
	}
}

// Ask sends a text to an agent, waits for the end of the run, and returns the
// text of the agent's answer. An empty session means a new one.
//
// If the run ends otherwise than by completing, the error is that of Run.Wait,
// or ErrWaiting, and the text is what the agent has said until then.
func (s *Server) Ask(ctx context.Context, app, user, session, text string) (string, error) {
	started, err := s.Start(ctx, Request{App: app, User: user, Session: session, Message: event.Text(event.RoleUser, text)})
	if err != nil {
		return "", err
	}
	result, err := started.Wait(ctx)
	if result == nil {
		return "", err
	}
	if err == nil && result.Waiting() {
		err = public(ErrWaiting)
	}
	return result.Text(), err
}

// FindRun finds a run of a session, on any server.
func (s *Server) FindRun(ctx context.Context, key session.Key, runID string) (*Run, error) {
	found, err := s.engine.Find(ctx, key, runID)
	if err != nil {
		return nil, public(absent(err, key, runID))
	}
	return &Run{started: found}, nil
}

// Follow yields the events of a run after the one with the id after, or all of
// them if after is empty, as Run.Events does. It is how a caller that was
// disconnected continues.
func (s *Server) Follow(ctx context.Context, key session.Key, runID, after string) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		reader, err := s.engine.Follow(ctx, key, runID, after)
		if err != nil {
			yield(nil, public(err))
			return
		}
		read(ctx, reader, yield)
	}
}

// Run is a run of an agent. Its methods are safe for concurrent use.
type Run struct {
	started *run.Run
	mu      sync.Mutex // for started.Read
}

// ID returns the id of the run, which is the invocation id of its events.
func (r *Run) ID() string { return r.started.ID() }

// Key returns the session that the run belongs to.
func (r *Run) Key() session.Key { return r.started.Key() }

// Repeated reports whether the request was a repetition of an earlier one with
// the same idempotency key, whose run this is.
func (r *Run) Repeated() bool { return r.started.Repeat }

// Events yields the events of the run from the first one on, as they come, until
// the run ends or waits for an answer. They belong to the caller.
//
// An error ends the sequence: a refusal, as Start returns them, of a message that
// was queued; ErrCancelled; ErrFailed, unless the last event reports the
// failure in its ErrorCode; or the cause of the end of ctx. The run continues
// when the caller stops reading.
func (r *Run) Events(ctx context.Context) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) { read(ctx, r.reader(), yield) }
}

// reader reads the run. The first one has all partial events, which the run
// keeps for its starter.
func (r *Run) reader() *run.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started.Read()
}

// read yields what a reader reads, and closes it.
func read(ctx context.Context, reader *run.Reader, yield func(*event.Event, error) bool) {
	defer reader.Close()
	for {
		item, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			row := reader.Run()
			if err = ended(row); row.Failure != nil && row.Failure.Reported {
				err = nil
			}
			if err != nil {
				yield(nil, err)
			}
			return
		}
		if err != nil {
			yield(nil, public(err))
			return
		}
		ev := &event.Event{}
		if err := ev.UnmarshalJSON(item.JSON); err != nil {
			yield(nil, public(err))
			return
		}
		if !yield(ev, nil) {
			return
		}
	}
}

// ended is the error of a run that has not completed.
func ended(row *session.Run) error {
	if err := run.Refusal(row); err != nil {
		return public(err)
	}
	switch {
	case row.Status == session.Cancelled:
		return public(ErrCancelled)
	case row.Failure != nil:
		return public(row.Failure)
	case row.Status == session.Failed:
		return public(ErrFailed)
	}
	return nil
}

// Result is the outcome of a run.
type Result struct {
	// Run is the run as it is stored: its status, its failure, its usage of
	// tokens.
	Run *session.Run
	// Events are those of the run, without the message that started it.
	Events []*event.Event
}

// Waiting reports whether the run waits for an answer from outside. The answer,
// which is a message with a function response, starts a run that continues it.
func (r *Result) Waiting() bool { return r.Run.Status == session.Waiting }

// Text returns the answer of the agents: the text, without thoughts, of the last
// event that has one.
func (r *Result) Text() string {
	for _, ev := range slices.Backward(r.Events) {
		if ev.Author != event.User {
			if text := ev.Content.Text(); text != "" {
				return text
			}
		}
	}
	return ""
}

// Wait waits for the end of the run. If the run failed or was cancelled, it returns
// the result and an error, as Events does, also for a failure that an event reports.
// The result is nil if the message was refused, if ctx is done first, or if the run
// cannot be read.
func (r *Run) Wait(ctx context.Context) (*Result, error) {
	got, err := r.started.Wait(ctx)
	if err != nil {
		return nil, public(err)
	}
	result := &Result{Run: got.Run, Events: make([]*event.Event, 0, len(got.Entries))}
	for _, entry := range got.Entries {
		ev := &event.Event{}
		if err := ev.UnmarshalJSON(entry.JSON); err != nil {
			return nil, public(err)
		}
		result.Events = append(result.Events, ev)
	}
	return result, ended(got.Run)
}

// Cancel ends the run, on any server. It returns when the
// request is stored, not when the run has ended: Wait waits for that. Cancelling
// a run that has ended does nothing.
func (r *Run) Cancel(ctx context.Context) error {
	return public(r.started.Cancel(ctx))
}
