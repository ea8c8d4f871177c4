package parley

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// Request is a message to an agent.
type Request struct {
	App, User string
	// Session is made when it does not exist.
	Session string
	Message *event.Content
	// Stream asks for pieces of what the model says, as partial events.
	Stream bool
	// StateDelta changes the session's state together with the message.
	StateDelta map[string]json.RawMessage
}

// Stream runs an agent in process, without HTTP, and yields its events as they
// come. An error ends the sequence.
//
// The run belongs to the session, not to the caller: if the caller stops
// reading, or ctx ends, the run still goes on to its end.
func (s *Server) Stream(ctx context.Context, req Request) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		if err := s.stream(ctx, req, yield); err != nil && !errors.Is(err, errStopped) {
			yield(nil, fmt.Errorf("parley: %w", err))
		}
	}
}

var errStopped = errors.New("the reader has stopped")

func (s *Server) stream(ctx context.Context, req Request, yield func(*event.Event, error) bool) error {
	key := session.Key{App: req.App, User: req.User, ID: req.Session}
	if err := key.Check(); err != nil {
		return err
	}
	if _, err := s.engine.Create(ctx, session.NewSession{Key: key}, nil); err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	started, err := s.engine.Start(ctx, run.Request{Key: key, Message: req.Message, Stream: req.Stream, StateDelta: req.StateDelta, SaveFiles: s.cfg.SaveInputFiles, Busy: session.Policy(s.cfg.Concurrency)})
	if err != nil {
		return err
	}
	reader := started.Read()
	defer reader.Close()
	for {
		item, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return outcome(reader.Run())
		}
		if err != nil {
			return err
		}
		ev := &event.Event{}
		if err := ev.UnmarshalJSON(item.JSON); err != nil {
			return err
		}
		if !yield(ev, nil) {
			return errStopped
		}
	}
}

// outcome is the error with which a run has ended, if the events do not tell.
func outcome(r *session.Run) error {
	if err := run.Refusal(r); err != nil {
		return err
	}
	if f := r.Failure; f != nil && !f.Reported {
		return f
	}
	return nil
}
