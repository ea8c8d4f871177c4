package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Function answers a call of JavaScript at once. It runs on the goroutine of the
// engine, whose code waits in the meantime.
type Function func(payload string) (string, error)

// Dispatch calls the function of that name for JavaScript. A panic must not reach
// what runs the code, and becomes an error.
func Dispatch(functions map[string]Function, name, payload string) (result string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the host function panicked: %v", v)
		}
	}()
	fn := functions[name]
	if fn == nil {
		return "", fmt.Errorf("there is no host function %q", name)
	}
	return fn(payload)
}

// CallFunction is a Function that answers on behalf of a call. scope is that of the
// call; nil if the call has ended or has none.
type CallFunction func(scope any, payload string) (string, error)

// Operation answers a request of JavaScript, on a goroutine of its own. It sends
// items with yield, which returns when the code asks for the next one.
type Operation func(ctx context.Context, params json.RawMessage, yield func(any) error) error

// Early is an item that an Operation may yield. From when Free is closed, yield
// returns even if the code has not asked for the next item.
type Early struct {
	Item any
	Free <-chan struct{}
}

type scopeKey struct{}

// Scope returns the scope of the call on whose behalf an Operation works; nil if
// there is none.
func Scope(ctx context.Context) any { return ctx.Value(scopeKey{}) }

// Answer makes a Function of one that takes and returns values. Errors are
// returned as values too, because the interpreter would keep only their text.
func Answer[P any](fn func(P) (any, error)) Function {
	return func(payload string) (string, error) { return answer(payload, fn) }
}

// AnswerCall is Answer for functions on behalf of a call.
func AnswerCall[P any](fn func(scope any, params P) (any, error)) CallFunction {
	return func(scope any, payload string) (string, error) {
		return answer(payload, func(params P) (any, error) { return fn(scope, params) })
	}
}

func answer[P any](payload string, fn func(P) (any, error)) (string, error) {
	var (
		params P
		out    struct {
			Value any        `json:"value"`
			Error *hostError `json:"error,omitempty"`
		}
	)
	err := json.Unmarshal([]byte(payload), &params)
	if err == nil {
		out.Value, err = fn(params)
	}
	if err != nil {
		out.Value, out.Error = nil, toHostError(err)
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// hostError is an error of Go as the code gets it; see HostError in
// js/prelude/host.js.
type hostError struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

// toHostError keeps the code of errors that have one, as errors of Node.js do.
func toHostError(err error) *hostError {
	if js, ok := errors.AsType[*Error](err); ok {
		return &hostError{Name: js.Name, Message: js.Message}
	}
	var coded interface{ Code() string }
	e := &hostError{Message: err.Error()}
	if errors.As(err, &coded) {
		e.Code = coded.Code()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		e.Name = "AbortError"
	}
	return e
}
