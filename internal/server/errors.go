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
	"github.com/parley-run/parley/internal/document"
	"github.com/parley-run/parley/internal/eval"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/inbox"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/sharelink"
	"github.com/parley-run/parley/internal/trigger"
	"github.com/parley-run/parley/internal/webhook"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// httpError is a response with a status other than 200: what the client is told, and a cause for the log.
type httpError struct {
	status  int
	message string
	detail  json.RawMessage // replaces message if not nil
	cause   error           // for the log only
	after   time.Duration   // Retry-After, if not 0
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

// fail writes an error in the shape that all errors of the contract share.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.failAs(w, r, err, func(e *httpError) { writeError(w, e) })
}

// failAs logs an error, and writes it unless it is too late.
func (s *Server) failAs(w http.ResponseWriter, r *http.Request, err error, write func(*httpError)) {
	if err := r.Context().Err(); err != nil {
		return // the client has disconnected
	}
	e := toHTTP(err, subjectOf(r))
	if e.status >= http.StatusInternalServerError && e.cause != nil {
		s.Log.ErrorContext(r.Context(), "request failed", "request_id", w.Header().Get(requestIDHeader), "method", r.Method, "path", loggedPath(r), "err", e.cause)
	}
	if out, ok := w.(*writer); ok && out.status != 0 {
		return // too late: the response has begun
	}
	e.setRetryAfter(w.Header())
	write(e)
}

// setRetryAfter says when to try again, rounded up to a second.
func (e *httpError) setRetryAfter(h http.Header) {
	if e.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.after.Seconds()))))
	}
}

func writeError(w http.ResponseWriter, e *httpError) {
	body := wire.Quote([]byte(`{"error":`), e.message)
	body = append(body, `,"detail":`...)
	if e.detail == nil {
		body = wire.Quote(body, e.message)
	} else {
		body = append(body, e.detail...)
	}
	if e.events != nil {
		body = document.Entries(append(body, `,"events":`...), e.events)
	}
	writeJSON(w, e.status, append(body, '}'))
}

// subject is what a request is about, for error messages that lack it.
type subject struct {
	app, session, run, share string
	// at and before are the event and the invocation that the body names.
	at, before string
	// unqueued is set if the request cannot be queued.
	unqueued bool
}

// subjectOf returns what the path of a request names.
func subjectOf(r *http.Request) subject {
	return subject{app: r.PathValue("app"), session: r.PathValue("session"), run: r.PathValue("run"), share: r.PathValue("share")}
}

// aboutError is an error about something other than what the path of the request names, or about more than that.
type aboutError struct {
	subject
	error
}

func (e *aboutError) Unwrap() error { return e.error }

// about adds the session that an error is about, where the path does not name it.
func about(key session.Key, err error) error {
	if err == nil {
		return nil
	}
	return &aboutError{subject{app: key.App, session: key.ID}, err}
}

// toHTTP maps an error to a status and a message for the client. Errors that are not in errorMap are internal, and
// their text is not shown to clients.
func toHTTP(err error, of subject) *httpError {
	if named, ok := errors.AsType[*aboutError](err); ok {
		of, err = named.subject, named.error
	}
	for _, mapped := range errorMap {
		if e := mapped(err, of); e != nil {
			return e
		}
	}
	return &httpError{status: http.StatusInternalServerError, message: "Internal Server Error", cause: err}
}

// Message returns what a client is told about an error of a session.
func Message(err error, key session.Key) string {
	return toHTTP(err, subject{app: key.App, session: key.ID}).message
}

// errorMap maps the errors of the packages that the server uses; the first match wins.
var errorMap = []func(error, subject) *httpError{
	as(func(e *httpError) *httpError { return e }),
	is(trigger.ErrNotFound, http.StatusNotFound, text(trigger.ErrNotFound.Error())), // may come with the error of a file
	as(func(e *wire.Error) *httpError { return invalid(e) }),
	as(func(e *face.Problem) *httpError {
		return &httpError{status: e.Status, message: e.Message, after: e.After}
	}),
	as(func(e *http.MaxBytesError) *httpError {
		return &httpError{
			status:  http.StatusRequestEntityTooLarge,
			message: fmt.Sprintf("The request body is larger than the limit of %d bytes", e.Limit),
		}
	}),

	// Errors about what the request names.
	is(run.ErrUnknownApp, http.StatusNotFound, func(of subject) string {
		return "Application not found: " + of.app + ". GET /list-apps lists the applications."
	}),
	is(session.ErrNotFound, http.StatusNotFound, func(of subject) string { return "Session not found: " + of.session }),
	is(session.ErrExists, http.StatusConflict, func(of subject) string { return "Session already exists: " + of.session }),
	is(session.ErrRunExists, http.StatusConflict, text(session.ErrRunExists.Error())),
	is(session.ErrRunNotFound, http.StatusNotFound, func(of subject) string {
		if of.run == "" {
			return session.ErrRunNotFound.Error()
		}
		return "Run not found: " + of.run
	}),
	is(run.ErrUnknownEvent, http.StatusUnprocessableEntity, func(of subject) string {
		switch {
		case of.before != "":
			return "The session has no events of the invocation " + of.before
		case of.at != "":
			return "The session has no event with the id in atEventId"
		}
		return "The run has no event with the id in Last-Event-ID or ?after=; leave it out to read from the beginning"
	}),
	is(sharelink.ErrNone, http.StatusNotFound, func(of subject) string { return "Link not found: " + of.share }),
	is(sharelink.ErrTooMany, http.StatusConflict, text(fmt.Sprintf("The session has %d links already: revoke one of them", sharelink.MaxLinks))),
	own(inbox.ErrNotFound, http.StatusNotFound),
	own(inbox.ErrNoLinks, http.StatusNotImplemented),
	own(inbox.ErrBadLink, http.StatusNotFound),
	own(inbox.ErrOldLink, http.StatusGone),
	as(func(e *inbox.AnsweredError) *httpError {
		return &httpError{status: http.StatusConflict, message: e.Error()}
	}),
	own(schedule.ErrNotFound, http.StatusNotFound),
	own(schedule.ErrExists, http.StatusConflict),
	own(schedule.ErrTooMany, http.StatusConflict),
	own(schedule.ErrTooLarge, http.StatusConflict),
	own(schedule.ErrChanged, http.StatusConflict),
	as(func(e *schedule.SpecError) *httpError {
		return invalid(&wire.Error{Path: []any{e.Field}, Type: "value_error", Msg: e.Message})
	}),
	own(trigger.ErrOwner, http.StatusForbidden),
	own(trigger.ErrExists, http.StatusConflict),
	own(trigger.ErrTooMany, http.StatusConflict),
	own(trigger.ErrChanged, http.StatusConflict),
	own(trigger.ErrInFile, http.StatusConflict),
	as(func(e *trigger.SpecError) *httpError {
		return invalid(&wire.Error{Path: []any{e.Field}, Type: "value_error", Msg: e.Message})
	}),
	as(func(e *trigger.ForbiddenError) *httpError {
		return &httpError{status: http.StatusForbidden, message: e.Message}
	}),
	as(func(e *trigger.PayloadError) *httpError {
		return &httpError{status: http.StatusUnprocessableEntity, message: "Invalid request: " + e.Message}
	}),
	own(webhook.ErrNotFound, http.StatusNotFound),
	own(webhook.ErrNoDelivery, http.StatusNotFound),
	own(webhook.ErrExists, http.StatusConflict),
	own(webhook.ErrTooMany, http.StatusConflict),
	own(webhook.ErrTooManyRuns, http.StatusConflict),
	as(webhookError),
	is(tool.ErrNoArtifact, http.StatusNotFound, text(tool.ErrNoArtifact.Error())),
	as(func(e *session.IdentifierError) *httpError {
		return &httpError{status: http.StatusBadRequest, message: e.Error()}
	}),
	as(func(e *artifact.NameError) *httpError {
		return &httpError{status: http.StatusBadRequest, message: e.Error()}
	}),
	is(session.ErrBadToken, http.StatusBadRequest, text(session.ErrBadToken.Error())),
	func(err error, _ subject) *httpError {
		if !errors.Is(err, session.ErrBadQuery) {
			return nil
		}
		return badParameter("query", "q", "must be words")
	},

	// Errors about its content.
	as(func(e *broker.AnswerError) *httpError {
		return &httpError{status: answerStatus[e.Refusal], message: e.Message}
	}),
	as(func(e *eval.Error) *httpError {
		return &httpError{status: evalStatus[e.Kind], message: e.Message, cause: e.Cause}
	}),
	as(func(e *replay.PlanError) *httpError {
		return &httpError{status: http.StatusUnprocessableEntity, message: e.Error()}
	}),
	is(replay.ErrActive, http.StatusConflict, text("The run has not ended yet: wait for it, or cancel it")),
	as(func(e *run.ImportError) *httpError {
		return &httpError{status: http.StatusBadRequest, message: e.Error()}
	}),
	own(artifact.ErrNotConfigured, http.StatusBadRequest),
	// The message is well formed, but it answers no open call: its content is wrong, and no resource is missing.
	own(run.ErrUnknownCall, http.StatusUnprocessableEntity),
	own(run.ErrSeparate, http.StatusUnprocessableEntity),
	own(run.ErrNotAllowed, http.StatusForbidden),

	// Errors about the current load or state.
	func(err error, of subject) *httpError {
		busy, ok := errors.AsType[*session.BusyError](err)
		if !ok {
			return nil
		}
		advice := ". Wait for it, cancel it, or send concurrency: enqueue."
		if of.unqueued {
			advice = ". Wait for it, or cancel it."
		}
		return &httpError{status: http.StatusConflict, message: busy.Error() + advice}
	},
	own(run.ErrAnswered, http.StatusConflict),
	own(run.ErrExpired, http.StatusConflict),
	own(run.ErrCancelled, http.StatusConflict),
	is(session.ErrReused, http.StatusConflict, text(session.ErrReused.Error())),
	own(run.ErrTooMuchFeedback, http.StatusConflict),
	as(func(e *run.LimitError) *httpError {
		return &httpError{status: http.StatusTooManyRequests, message: e.Error(), after: e.After}
	}),
	func(err error, _ subject) *httpError {
		if !errors.Is(err, session.ErrQueueFull) {
			return nil
		}
		return &httpError{status: http.StatusTooManyRequests, message: "Too many messages are waiting for the session", after: time.Second}
	},

	// Errors of the server.
	as(func(e *run.AppError) *httpError {
		return &httpError{
			status:  http.StatusInternalServerError,
			message: "Failed to load agent. GET /list-apps?detailed=true says why.", cause: e,
		}
	}),
	as(func(e *run.PluginError) *httpError {
		return &httpError{status: http.StatusInternalServerError, message: e.Error(), cause: e}
	}),
	as(func(e *session.CorruptError) *httpError {
		return &httpError{
			status: http.StatusInternalServerError, message: e.Error(), cause: e,
			detail: listOf(problem{run.Corrupt, []any{"session", e.Key.ID, "events", e.Seq}, e.Error()}),
		}
	}),
	as(func(e *session.UnavailableError) *httpError {
		if e.Doubt {
			return &httpError{status: http.StatusInternalServerError, cause: e, message: "The session database did not answer, and it is unknown whether " +
				"the request was stored. Read the session before you send it again, or send it with the same Idempotency-Key."}
		}
		return &httpError{
			status: http.StatusServiceUnavailable, after: time.Second, cause: e,
			message: "The session database is unavailable. Nothing was changed. Try again later.",
		}
	}),
	own(run.ErrClosing, http.StatusServiceUnavailable),
	own(face.ErrExpired, http.StatusUnauthorized),
	is(context.Canceled, statusClientClosed, text("The client closed the request")),
}

// statusClientClosed is logged for requests whose client has disconnected. No client sees it.
const statusClientClosed = 499

var answerStatus = map[broker.Refusal]int{
	broker.Mismatched:  http.StatusBadRequest,
	broker.Incomplete:  http.StatusUnprocessableEntity,
	broker.Conflicting: http.StatusConflict,
	broker.Forbidden:   http.StatusForbidden,
	broker.Unavailable: http.StatusServiceUnavailable,
}

var evalStatus = map[eval.Kind]int{
	eval.Invalid:  http.StatusBadRequest,
	eval.NotFound: http.StatusNotFound,
	eval.Exists:   http.StatusConflict,
	// The request is valid, and would succeed with another directory.
	eval.Unwritable: http.StatusConflict,
	eval.Busy:       http.StatusConflict,
	eval.Cancelled:  http.StatusConflict,
}

// as maps errors of a type.
func as[E error](answer func(E) *httpError) func(error, subject) *httpError {
	return func(err error, _ subject) *httpError {
		if e, ok := errors.AsType[E](err); ok {
			return answer(e)
		}
		return nil
	}
}

// is maps one error value.
func is(known error, status int, message func(subject) string) func(error, subject) *httpError {
	return func(err error, of subject) *httpError {
		if !errors.Is(err, known) {
			return nil
		}
		return &httpError{status: status, message: message(of)}
	}
}

// own maps one error value whose wrapping text is for clients too.
func own(known error, status int) func(error, subject) *httpError {
	return func(err error, _ subject) *httpError {
		if !errors.Is(err, known) {
			return nil
		}
		return &httpError{status: status, message: err.Error()}
	}
}

func text(s string) func(subject) string { return func(subject) string { return s } }

// invalid is the error for a body that cannot be decoded. Its detail is a list of locations and reasons.
func invalid(errs ...*wire.Error) *httpError {
	list := make([]problem, len(errs))
	for i, e := range errs {
		list[i] = problem{e.Type, append([]any{"body"}, e.Path...), e.Msg}
	}
	return &httpError{status: http.StatusUnprocessableEntity, message: "Invalid request: " + errs[0].Error(), detail: listOf(list...)}
}

// badParameter is like invalid for a parameter outside the body: where is "query" or "header".
func badParameter(where, name, msg string) *httpError {
	wrong := &wire.Error{Path: []any{name}, Msg: msg}
	return &httpError{
		status: http.StatusUnprocessableEntity, message: "Invalid request: " + wrong.Error(),
		detail: listOf(problem{"value_error", []any{where, name}, msg}),
	}
}

// problem is an entry of the list that describes an invalid request.
type problem struct {
	Type string `json:"type"`
	Loc  []any  `json:"loc"`
	Msg  string `json:"msg"`
}

func listOf(problems ...problem) json.RawMessage {
	detail, err := json.Marshal(problems)
	if err != nil { // a path with something other than names and numbers
		return nil
	}
	return detail
}

// jsonType is a header value that all responses share (BenchmarkRun in package bench). It must not be modified.
var jsonType = []string{"application/json"}

// writeJSON writes a complete response.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	if status == http.StatusServiceUnavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // it is JSON, and says so; a client that is gone cannot be told
}
