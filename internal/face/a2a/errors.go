package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// kind is a kind of error of the protocol.
type kind struct {
	code   int    // of JSON-RPC
	http   int    // status
	status string // of HTTP+JSON
	reason string // in the details; empty for errors of JSON-RPC itself
}

// The kinds of errors.
var (
	parseError          = &kind{-32700, http.StatusBadRequest, "INVALID_ARGUMENT", ""}
	invalidRequest      = &kind{-32600, http.StatusBadRequest, "INVALID_ARGUMENT", ""}
	methodNotFound      = &kind{-32601, http.StatusNotFound, "NOT_FOUND", ""}
	invalidParams       = &kind{-32602, http.StatusBadRequest, "INVALID_ARGUMENT", ""}
	internalError       = &kind{-32603, http.StatusInternalServerError, "INTERNAL", ""}
	taskNotFound        = &kind{-32001, http.StatusNotFound, "NOT_FOUND", "TASK_NOT_FOUND"}
	taskNotCancelable   = &kind{-32002, http.StatusConflict, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"}
	pushNotSupported    = &kind{-32003, http.StatusBadRequest, "UNIMPLEMENTED", "PUSH_NOTIFICATION_NOT_SUPPORTED"}
	unsupported         = &kind{-32004, http.StatusBadRequest, "UNIMPLEMENTED", "UNSUPPORTED_OPERATION"}
	contentNotSupported = &kind{-32005, http.StatusUnsupportedMediaType, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"}
	cardNotConfigured   = &kind{-32007, http.StatusBadRequest, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"}
	versionNotSupported = &kind{-32009, http.StatusBadRequest, "UNIMPLEMENTED", "VERSION_NOT_SUPPORTED"}
)

// failure is an error of the protocol.
type failure struct {
	*kind
	message string
	field   string // of the request that the error is about
}

func (f *failure) Error() string { return f.message }

func fail(k *kind, format string, args ...any) *failure {
	return &failure{kind: k, message: fmt.Sprintf(format, args...)}
}

// invalid returns the error of an invalid member of the request.
func invalid(field, format string, args ...any) *failure {
	return &failure{kind: invalidParams, message: fmt.Sprintf(format, args...), field: field}
}

func notFound(id string) *failure { return fail(taskNotFound, "Task not found: %s", id) }

// failureOf returns an error as clients see it. The second result is that of the
// server, whose status and Retry-After count; nil for an error of the protocol.
func (h handler) failureOf(err error, key session.Key) (*failure, *face.Problem) {
	if own, ok := errors.AsType[*failure](err); ok {
		return own, nil
	}
	if bad, ok := errors.AsType[*wire.Error](err); ok {
		return invalid("", "%s", bad.Error()), nil
	}
	p := h.Explain(err, key)
	f := &failure{kind: internalError, message: p.Message}
	switch {
	case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrRunNotFound):
		f.kind = taskNotFound
		return f, nil
	case errors.Is(err, run.ErrUnknownApp), p.Status >= http.StatusInternalServerError, p.Status == http.StatusTooManyRequests,
		p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Status == http.StatusRequestEntityTooLarge:
		return f, &p
	}
	f.kind = invalidParams
	return f, nil
}

// errorDetail is an entry of the details of an error: its reason, or the member of the
// request that it is about.
type errorDetail struct {
	Type       string           `json:"@type"`
	Reason     string           `json:"reason,omitempty"`
	Domain     string           `json:"domain,omitempty"`
	Violations []fieldViolation `json:"fieldViolations,omitempty"`
}

type fieldViolation struct {
	Field       string `json:"field"`
	Description string `json:"description"`
}

func (f *failure) details() []errorDetail {
	switch {
	case f.reason != "":
		return []errorDetail{{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: f.reason, Domain: "a2a-protocol.org"}}
	case f.field != "":
		return []errorDetail{{Type: "type.googleapis.com/google.rpc.BadRequest", Violations: []fieldViolation{{f.field, f.message}}}}
	}
	return []errorDetail{}
}

// rpc appends the response of JSON-RPC with an error. id is JSON.
func (f *failure) rpc(dst, id []byte) []byte {
	type rpcError struct {
		Code    int           `json:"code"`
		Message string        `json:"message"`
		Data    []errorDetail `json:"data,omitempty"`
	}
	return appendJSON(dst, struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   rpcError        `json:"error"`
	}{"2.0", id, rpcError{f.code, f.message, f.details()}})
}

// restError is the error of HTTP+JSON.
type restError struct {
	Code    int           `json:"code"`
	Status  string        `json:"status"`
	Message string        `json:"message"`
	Details []errorDetail `json:"details"`
}

// rest appends the body of HTTP+JSON with an error.
func (f *failure) rest(dst []byte, code int) []byte {
	return appendJSON(dst, struct {
		Error restError `json:"error"`
	}{restError{code, f.status, f.message, f.details()}})
}

func appendJSON(dst []byte, v any) []byte {
	text, _ := json.Marshal(v) //nolint:errchkjson // texts, numbers, and an id that was decoded before
	return append(dst, text...)
}

// statusOf has the names of errors of the server.
var statusOf = map[int]string{
	http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND",
	http.StatusTooManyRequests: "RESOURCE_EXHAUSTED", http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
}

// problem writes an error of the server, as HTTP+JSON has it.
func problem(w http.ResponseWriter, _ *http.Request, p face.Problem) {
	f := &failure{kind: &kind{status: "INTERNAL"}, message: p.Message}
	if name := statusOf[p.Status]; name != "" {
		f.kind = &kind{status: name}
	} else if p.Status < http.StatusInternalServerError {
		f.kind = &kind{status: "INVALID_ARGUMENT"}
	}
	respond(w, p.Status, f.rest(nil, p.Status))
}

// respond writes a document.
func respond(w http.ResponseWriter, code int, doc []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(doc) // a client that has disconnected cannot be told
}
