package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// httpError is an answer that is not 200: what the client is told, and what
// only the log is.
type httpError struct {
	status  int
	message string
	detail  json.RawMessage // message when nil
	cause   error           // not for clients
	after   time.Duration   // when to try again, if not 0
	events  []*session.Entry
}

func (e *httpError) Error() string { return e.message }
func (e *httpError) Unwrap() error { return e.cause }

// handle adapts a route to net/http.
func (s *Server) handle(route func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, err := s.admit(w, r)
		if err == nil {
			err = route(w, r)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail writes an error in the one shape that all errors have.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if err := r.Context().Err(); err != nil {
		return // nobody is there to be told
	}
	e := toHTTP(err)
	if e.status >= http.StatusInternalServerError && e.cause != nil {
		s.Log.ErrorContext(r.Context(), "request failed", "request_id", w.Header().Get(requestIDHeader), "method", r.Method, "path", r.URL.Path, "err", e.cause)
	}
	if out, ok := w.(*writer); ok && out.status != 0 {
		return // too late: the answer has begun
	}
	if e.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.after.Seconds()))))
	}
	body := wire.Quote([]byte(`{"error":`), e.message)
	body = append(body, `,"detail":`...)
	if e.detail == nil {
		body = wire.Quote(body, e.message)
	} else {
		body = append(body, e.detail...)
	}
	if e.events != nil {
		body = appendEntries(append(body, `,"events":`...), e.events)
	}
	writeJSON(w, e.status, append(body, '}'))
}

// toHTTP maps errors to statuses. Errors that are not listed here are ours, and
// their text is not for clients.
func toHTTP(err error) *httpError {
	if e, ok := errors.AsType[*httpError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return invalid(e)
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &httpError{
			status:  http.StatusRequestEntityTooLarge,
			message: fmt.Sprintf("The request body is larger than the limit of %d bytes", e.Limit),
		}
	}
	if e, ok := errors.AsType[*run.AppError](err); ok {
		return &httpError{
			status:  http.StatusInternalServerError,
			message: "Failed to load agent. GET /list-apps?detailed=true says why.", cause: e,
		}
	}
	if e, ok := errors.AsType[*run.PluginError](err); ok {
		return &httpError{status: http.StatusInternalServerError, message: e.Error(), cause: e}
	}
	if e, ok := errors.AsType[*broker.AnswerError](err); ok {
		return &httpError{status: e.Status, message: e.Message}
	}
	if e, ok := errors.AsType[*eval.Error](err); ok {
		return &httpError{status: evalStatus[e.Kind], message: e.Message, cause: e.Cause}
	}
	if e, ok := errors.AsType[*session.IdentifierError](err); ok {
		return &httpError{status: http.StatusBadRequest, message: e.Error()}
	}
	if e, ok := errors.AsType[*artifact.NameError](err); ok {
		return &httpError{status: http.StatusBadRequest, message: e.Error()}
	}
	if e, ok := errors.AsType[*session.BusyError](err); ok {
		return &httpError{status: http.StatusConflict, message: e.Error() + ". Wait for it, cancel it, or send concurrency: enqueue."}
	}
	if e, ok := errors.AsType[*run.ImportError](err); ok {
		return &httpError{status: http.StatusBadRequest, message: e.Error()}
	}
	if e, ok := errors.AsType[*run.LimitError](err); ok {
		return &httpError{status: http.StatusTooManyRequests, message: e.Error(), after: e.After}
	}
	if errors.Is(err, session.ErrQueueFull) {
		return &httpError{status: http.StatusTooManyRequests, message: "Too many messages are waiting for the session", after: time.Second}
	}
	if e, ok := errors.AsType[*session.CorruptError](err); ok {
		return &httpError{
			status: http.StatusInternalServerError, message: e.Error(), cause: err,
			detail: listOf(problem{run.Corrupt, []any{"session", e.Key.ID, "events", e.Seq}, e.Error()}),
		}
	}
	if e, ok := errors.AsType[*session.UnavailableError](err); ok {
		if e.Doubt {
			return &httpError{status: http.StatusInternalServerError, cause: err, message: "The session database did not answer, and it is not known whether " +
				"the request was stored. Read the session before you send it again, or send it with the same Idempotency-Key."}
		}
		return &httpError{
			status: http.StatusServiceUnavailable, after: time.Second, cause: err,
			message: "The session database cannot be used now. Nothing was changed. Try again later.",
		}
	}
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, artifact.ErrNotConfigured):
		status = http.StatusBadRequest
	case errors.Is(err, tool.ErrNoArtifact), errors.Is(err, session.ErrRunNotFound):
		status = http.StatusNotFound
	case errors.Is(err, session.ErrBadToken):
		status = http.StatusBadRequest
	case errors.Is(err, run.ErrAnswered), errors.Is(err, run.ErrExpired), errors.Is(err, run.ErrCancelled), errors.Is(err, session.ErrReused):
		status = http.StatusConflict
	case errors.Is(err, run.ErrUnknownCall), errors.Is(err, run.ErrSeparate):
		// The message is well formed, but it answers nothing: a fault in its
		// content rather than a missing resource.
		status = http.StatusUnprocessableEntity
	case errors.Is(err, run.ErrClosing):
		status = http.StatusServiceUnavailable
	}
	if status != http.StatusInternalServerError {
		return &httpError{status: status, message: plain(err)}
	}
	if errors.Is(err, context.Canceled) {
		return &httpError{status: 499, message: "The client closed the request"}
	}
	return &httpError{status: status, message: "Internal Server Error", cause: err}
}

// plain is the text of an error without what a store was doing when it came up,
// which is nothing to clients.
func plain(err error) string {
	for _, known := range []error{session.ErrRunNotFound, session.ErrBadToken, session.ErrReused, tool.ErrNoArtifact} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// invalid is the answer to a body that cannot be read, with a list in which
// each entry says where and why.
func invalid(errs ...*wire.Error) *httpError {
	list := make([]problem, len(errs))
	for i, e := range errs {
		list[i] = problem{e.Type, append([]any{"body"}, e.Path...), e.Msg}
	}
	return &httpError{status: http.StatusUnprocessableEntity, message: "Invalid request: " + errs[0].Error(), detail: listOf(list...)}
}

// badParameter is invalid for what is not in the body: where is "query" or
// "header".
func badParameter(where, name, msg string) *httpError {
	wrong := &wire.Error{Path: []any{name}, Msg: msg}
	return &httpError{
		status: http.StatusUnprocessableEntity, message: "Invalid request: " + wrong.Error(),
		detail: listOf(problem{"value_error", []any{where, name}, msg}),
	}
}

// problem is an entry of the list that tells what is wrong with a request.
type problem struct {
	Type string `json:"type"`
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
}

func listOf(problems ...problem) json.RawMessage {
	detail, err := json.Marshal(problems)
	if err != nil { // a path of something other than names and numbers
		return nil
	}
	return detail
}

func appNotFound(app string) error {
	return &httpError{status: http.StatusNotFound, message: "Application not found: " + app + ". GET /list-apps names those that are here."}
}

func sessionNotFound(id string) error {
	return &httpError{status: http.StatusNotFound, message: "Session not found: " + id}
}

// about gives the errors that are about one application or session their
// names.
func about(key session.Key, err error) error {
	switch {
	case errors.Is(err, run.ErrUnknownApp):
		return appNotFound(key.App)
	case errors.Is(err, session.ErrNotFound):
		return sessionNotFound(key.ID)
	case errors.Is(err, session.ErrExists):
		return &httpError{status: http.StatusConflict, message: "Session already exists: " + key.ID}
	}
	return err
}

// jsonType is a header value that all answers share; nobody changes it.
var jsonType = []string{"application/json"}

// writeJSON writes a whole answer.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	if status == http.StatusServiceUnavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // it is JSON, and says so; a client that is gone cannot be told
}
