package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/wire"
)

// Headers about the run that an answer is a view of: its id, and whether an
// earlier request has started it.
const (
	runHeader      = "X-Parley-Run"
	replayedHeader = "Idempotent-Replayed"
)

// start begins the run that a request asks for.
func (s *Server) start(w http.ResponseWriter, r *http.Request, req *runRequest) (*run.Run, error) {
	started, err := s.Engine.Start(r.Context(), req.Request)
	if err != nil {
		return nil, about(req.Key, err)
	}
	w.Header().Set(runHeader, started.ID())
	if started.Repeat {
		w.Header().Set(replayedHeader, "true")
	}
	return started, nil
}

// bodies are answers of /run that have been sent.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled keeps a single large answer from staying in the pool.
const maxPooled = 64 << 10

// errPatience ends the waiting of a client that does not want to wait longer.
var errPatience = errors.New("the client's patience is over")

// run answers with all events of a turn at once.
func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	req, err := s.runRequest(w, r)
	if err != nil {
		return err
	}
	wait, err := patience(r)
	if err != nil {
		return err
	}
	req.Stream = false
	started, err := s.start(w, r, req)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if wait >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(wait)*time.Second, errPatience)
		defer cancel()
	}
	result, err := started.Wait(ctx)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errPatience): // a store may say it in words of its own
		w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(wait))
		return s.accepted(w, r, started)
	case r.Context().Err() != nil:
		s.gone(r, req, started)
		return nil
	case errors.Is(err, run.ErrClosing):
		w.Header().Set("Location", runPath(started.Key(), started.ID())+"/events")
		return err
	case err != nil:
		return about(req.Key, err)
	}
	return s.events(w, result)
}

// gone does what the request wants to be done when its client goes away.
func (s *Server) gone(r *http.Request, req *runRequest, started *run.Run) {
	if !req.cancelOnDisconnect || started.Repeat {
		return // the run goes on
	}
	if err := started.Cancel(context.WithoutCancel(r.Context())); err != nil {
		s.Log.ErrorContext(r.Context(), "could not cancel the run of a client that is gone", "run_id", started.ID(), "err", err)
	}
}

// events answers with what became of a run.
func (s *Server) events(w http.ResponseWriter, result *run.Result) error {
	if f := result.Run.Failure; f != nil && !f.Reported {
		status := http.StatusInternalServerError
		if result.Run.Status == session.Cancelled {
			status = http.StatusConflict
		}
		return &httpError{status: status, message: f.Message, events: append([]*session.Entry{}, result.Entries...)}
	}
	body, _ := bodies.Get().(*[]byte)
	defer bodies.Put(body)
	*body = appendEntries((*body)[:0], result.Entries)
	writeJSON(w, http.StatusOK, *body)
	if cap(*body) > maxPooled {
		*body = nil
	}
	return nil
}

// How long a stream may be silent: before its headers are sent without waiting
// for an event, and before a comment shows proxies that it is alive.
const (
	headersAfter   = 100 * time.Millisecond
	keepAliveAfter = 15 * time.Second
)

// runSSE answers with the events of a turn as they come.
func (s *Server) runSSE(w http.ResponseWriter, r *http.Request) error {
	req, err := s.runRequest(w, r)
	if err != nil {
		return err
	}
	started, err := s.start(w, r, req)
	if err != nil {
		return err
	}
	reader := started.Read()
	defer reader.Close()
	defer s.streaming()()
	out := newStream(w)
	last := ""
	err = out.follow(r.Context(), reader, func(item run.Item) error {
		if item.Entry != nil {
			last = eventID(item.Entry)
		}
		return out.data(item.JSON)
	})
	switch {
	case errors.Is(err, io.EOF):
		if err := about(req.Key, run.Refusal(reader.Run())); err != nil {
			if out.opened { // by a sign of life while it stood in line
				_ = out.data(errorFrame(&session.Failure{Type: "refused", Message: toHTTP(err).message}))
			}
			return err
		}
		out.end(reader.Run().Failure)
		return nil
	case r.Context().Err() != nil, errors.Is(err, errClientGone):
		s.gone(r, req, started)
		return nil
	case errors.Is(err, run.ErrClosing):
		resume := resumePath(started.Key(), started.ID(), last)
		if out.opened {
			_ = out.send([]byte(": this server is shutting down; the run goes on at " + resume + "\n\n"))
			return nil
		}
		w.Header().Set("Location", resume)
	case out.opened:
		_ = out.data(errorFrame(&session.Failure{Type: "store", Message: toHTTP(about(req.Key, err)).message}))
	}
	return about(req.Key, err)
}

// errorFrame is the last frame of a stream whose run has failed.
func errorFrame(f *session.Failure) []byte {
	b := wire.Quote([]byte(`{"error":`), f.Message)
	b = wire.Quote(append(b, `,"error_details":{"error_type":`...), f.Type)
	b = wire.Quote(append(b, `,"error_message":`...), f.Message)
	b = wire.Number(append(b, `,"timestamp":`...), event.Seconds(time.Now()))
	return append(b, "}}"...)
}
