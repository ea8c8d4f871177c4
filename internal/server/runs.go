package server

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/session"
	"github.com/parley-run/parley/internal/wire"
)

// runHeader names the run that an answer is a view of.
const runHeader = "X-Parley-Run"

// start begins the run that a request asks for.
func (s *Server) start(w http.ResponseWriter, r *http.Request, mayStream bool) (*run.Run, run.Request, error) {
	req, err := s.runRequest(w, r)
	if err != nil {
		return nil, req, err
	}
	req.Stream = req.Stream && mayStream
	started, err := s.Engine.Start(r.Context(), req)
	if err != nil {
		return nil, req, about(req.Key, err)
	}
	w.Header().Set(runHeader, started.ID())
	return started, req, nil
}

// bodies are answers of /run that have been sent.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// maxPooled keeps a single large answer from staying in the pool.
const maxPooled = 64 << 10

// run answers with all events of a turn at once.
func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	started, req, err := s.start(w, r, false)
	if err != nil {
		return err
	}
	select {
	case <-started.Done():
	case <-r.Context().Done():
		return nil // the client is gone; the run is not
	}
	if err := started.Refusal(); err != nil {
		return about(req.Key, err)
	}
	entries := started.Entries()
	if f := started.Info().Failure; f != nil && !f.Reported {
		status := http.StatusInternalServerError
		if started.Info().Status == run.Cancelled {
			status = http.StatusConflict
		}
		return &httpError{status: status, message: f.Message, events: append([]*session.Entry{}, entries...)}
	}
	body, _ := bodies.Get().(*[]byte)
	defer bodies.Put(body)
	*body = appendEntries((*body)[:0], entries)
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
	started, req, err := s.start(w, r, true)
	if err != nil {
		return err
	}
	follower := started.Follow()
	defer follower.Close()
	out := newStream(w)
	quiet := time.NewTimer(headersAfter)
	defer quiet.Stop()
	for {
		item, ok, err := follower.Take()
		switch {
		case ok:
			if out.data(item.JSON) != nil {
				return nil // the client is gone; the run is not
			}
			continue
		case errors.Is(err, io.EOF):
			if err := about(req.Key, started.Refusal()); err != nil {
				if out.opened { // by a sign of life while it stood in line
					_ = out.data(errorFrame(&run.Failure{Type: "refused", Message: toHTTP(err).message}))
				}
				return err
			}
			return out.end(started.Info().Failure)
		}
		select {
		case <-follower.Ready():
		case <-quiet.C:
			select {
			case <-started.Admitted():
				out.open()
			default:
			}
			if out.silent() >= keepAliveAfter && out.comment() != nil {
				return nil
			}
			quiet.Reset(keepAliveAfter - out.silent())
		case <-r.Context().Done():
			return nil
		}
	}
}

// errorFrame is the last frame of a stream whose run has failed.
func errorFrame(f *run.Failure) []byte {
	b := wire.Quote([]byte(`{"error":`), f.Message)
	b = wire.Quote(append(b, `,"error_details":{"error_type":`...), f.Type)
	b = wire.Quote(append(b, `,"error_message":`...), f.Message)
	b = wire.Number(append(b, `,"timestamp":`...), event.Seconds(time.Now()))
	return append(b, "}}"...)
}
