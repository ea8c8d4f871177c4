package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// Response headers about the run: its id, and whether an earlier request started it.
const (
	runHeader      = "X-Parley-Run"
	replayedHeader = "Idempotent-Replayed"
)

// start starts the run that a request asks for.
func (s *Server) start(w http.ResponseWriter, r *http.Request, req *runRequest) (*run.Run, error) {
	var started *run.Run
	var err error
	if req.webhook != nil {
		started, err = s.startTelling(r.Context(), req)
	} else {
		started, err = s.Engine.Start(r.Context(), req.Request)
	}
	if err != nil {
		return nil, about(req.Key, err)
	}
	w.Header()[runHeader] = []string{started.ID()}
	if started.Repeat {
		w.Header().Set(replayedHeader, "true")
	}
	return started, nil
}

// errWaitOver ends the wait of a client that set a limit.
var errWaitOver = errors.New("the client's wait is over")

// run answers with all events of a turn at once.
func (s *Server) run(w http.ResponseWriter, r *http.Request) error {
	req, err := s.runRequest(w, r)
	if err != nil {
		return err
	}
	wait, err := preferredWait(r)
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
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(wait)*time.Second, errWaitOver)
		defer cancel()
	}
	result, err := started.Wait(ctx)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errWaitOver): // a store may wrap it in its own error
		w.Header().Set("Preference-Applied", "wait="+strconv.Itoa(wait))
		return s.accepted(w, r, started)
	case r.Context().Err() != nil:
		s.clientGone(r, req.cancelOnDisconnect, started)
		return nil
	case errors.Is(err, run.ErrClosing):
		left := stillRunning(w, resumePath(started.Key(), started.ID(), ""))
		left.events = []*session.Entry{}
		return left
	case err != nil:
		return about(req.Key, err)
	}
	return s.events(w, result)
}

// shutdownMessage is for a client whose run was accepted and has not ended. The run continues if the sessions outlive
// the server.
func shutdownMessage(at string) string {
	return "The server is shutting down, and the run may continue elsewhere. Its events are at " + at + ": look there before you send the message again."
}

// stillRunning is the response to such a client, with the URL where it can read on. It is not 503, because clients and
// proxies repeat a request after that.
func stillRunning(w http.ResponseWriter, at string) *httpError {
	w.Header().Set("Location", at)
	return &httpError{status: http.StatusInternalServerError, message: shutdownMessage(at)}
}

// clientGone applies the disconnect policy of a request: it cancels the run, or does nothing.
func (s *Server) clientGone(r *http.Request, cancels bool, started *run.Run) {
	if !cancels || started.Repeat {
		return // the run continues
	}
	if err := started.Cancel(context.WithoutCancel(r.Context())); err != nil {
		s.Log.ErrorContext(r.Context(), "failed to cancel the run of a disconnected client", "run_id", started.ID(), "err", err)
	}
}

// events answers with the result of a run.
func (s *Server) events(w http.ResponseWriter, result *run.Result) error {
	if f := result.Run.Failure; f != nil && !f.Reported {
		status := http.StatusInternalServerError
		if result.Run.Status == session.Cancelled {
			status = http.StatusConflict
		}
		return &httpError{status: status, message: f.Message, events: append([]*session.Entry{}, result.Entries...)}
	}
	body := sse.Buffer()
	defer sse.Release(body)
	*body = document.Entries(*body, result.Entries)
	writeJSON(w, http.StatusOK, *body)
	return nil
}

// runSSE answers with the events of a turn as they arrive.
func (s *Server) runSSE(w http.ResponseWriter, r *http.Request) error {
	req, err := s.runRequest(w, r)
	if err != nil {
		return err
	}
	started, err := s.start(w, r, req)
	if err != nil {
		return err
	}
	t := &turn{run: started, cancels: req.cancelOnDisconnect, reader: started.Read(), out: sse.New(w, r)}
	defer t.reader.Close()
	defer s.streaming()()
	ctx, cancel := untilExpiry(r)
	defer cancel()
	err = sse.Follow(ctx, t.out, t.reader, t.send)                                                        //nolint:contextcheck // ctx is that of the request, with a deadline
	if r.Context().Err() == nil && errors.Is(context.Cause(ctx), errExpired) && !errors.Is(err, io.EOF) { //nolint:contextcheck // as above
		err = errExpired // a store may wrap it in its own error
	}
	return s.endSSE(w, r, t, err)
}

// turn is a run whose client follows it from the beginning.
type turn struct {
	run     *run.Run
	cancels bool // cancel when the client disconnects
	reader  *run.Reader
	out     *sse.Stream
	last    *session.Entry // the last one sent, or nil
}

func (t *turn) send(item run.Item) error {
	if item.Entry != nil {
		t.last = item.Entry
	}
	return t.out.Data(item.JSON)
}

// resume returns the URL of the events that were not sent.
func (t *turn) resume() string {
	last := ""
	if t.last != nil {
		last = eventID(t.last)
	}
	return resumePath(t.run.Key(), t.run.ID(), last)
}

// endSSE ends the stream of a turn after err. It is separate from runSSE because many streams are open for long, and
// the stack frame of a function includes what only its last statements need (open_streams in package bench).
func (s *Server) endSSE(w http.ResponseWriter, r *http.Request, t *turn, err error) error {
	key, out := t.run.Key(), t.out
	switch {
	case errors.Is(err, io.EOF):
		if err := about(key, run.Refusal(t.reader.Run())); err != nil {
			if out.Opened() { // by a keep-alive comment while the run was queued
				_ = out.Data(errorFrame(&session.Failure{Type: "refused", Message: toHTTP(err, subjectOf(r)).message}, ""))
			}
			return err
		}
		endStream(out, t.reader.Run().Failure)
		return nil
	case r.Context().Err() != nil, errors.Is(err, sse.ErrGone):
		s.clientGone(r, t.cancels, t.run)
		return nil //nolint:nilerr // the client has disconnected
	case errors.Is(err, errExpired):
		resume := t.resume()
		_ = out.Data(errorFrame(&session.Failure{
			Type: "token_expired", Message: "The token of the request has expired. The run continues: read its events with a new token at " + resume,
		}, resume))
		return nil
	case errors.Is(err, run.ErrClosing):
		resume := t.resume()
		if !out.Opened() {
			return stillRunning(w, resume)
		}
		_ = out.Data(errorFrame(&session.Failure{Type: "shutdown", Message: shutdownMessage(resume)}, resume))
		return nil
	case out.Opened():
		_ = out.Data(errorFrame(&session.Failure{Type: "store", Message: toHTTP(about(key, err), subjectOf(r)).message}, ""))
	}
	return about(key, err)
}

// errorFrame returns the last frame of a stream whose run has failed, or continues at resume.
func errorFrame(f *session.Failure, resume string) []byte {
	b := wire.Quote([]byte(`{"error":`), f.Message)
	b = wire.Quote(append(b, `,"error_details":{"error_type":`...), f.Type)
	b = wire.Quote(append(b, `,"error_message":`...), f.Message)
	b = wire.Number(append(b, `,"timestamp":`...), event.Seconds(time.Now()))
	if resume != "" {
		b = wire.Quote(append(b, `,"url":`...), resume)
	}
	return append(b, "}}"...)
}

// endStream closes a stream. If the run has failed, it sends an error frame first.
func endStream(out *sse.Stream, f *session.Failure) {
	if f == nil || f.Reported {
		out.Open()
		return
	}
	_ = out.Data(errorFrame(f, "")) // the client may have disconnected
}

// errExpired ends a stream whose caller needs a new token. The run continues.
var errExpired = errors.New("the token of the request has expired")

// untilExpiry returns the context of a stream. It ends with errExpired when the caller's token expires.
func untilExpiry(r *http.Request) (context.Context, context.CancelFunc) {
	if c := callerOf(r); c != nil && !c.Expires.IsZero() {
		return context.WithDeadlineCause(r.Context(), c.Expires, errExpired)
	}
	return r.Context(), func() {}
}
