package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// Generate implements model.Model.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return m.caller.Generate(ctx, func(ctx context.Context, emit func(*model.Response) bool) (*model.Response, error) {
		a := &answer{}
		if !req.Stream {
			emit = nil
		}
		if err := m.ask(ctx, req, a, emit); err != nil {
			return a.incomplete(), m.cause(err)
		}
		return a.response(), nil
	})
}

// Ready returns an error if it is known before a call that the model cannot be called,
// because it has no key.
func (m *Model) Ready() error {
	if m.needsKey {
		return &call.RefusalError{Code: "MISSING_API_KEY", Message: "The model " + m.name +
			" needs an API key: set ANTHROPIC_API_KEY. --offline runs without any key."}
	}
	return nil
}

// ask adds the response to a, and emits pieces as they arrive. It always streams:
// the API requires that for long answers, and it distinguishes a slow answer from a
// hanging one.
func (m *Model) ask(ctx context.Context, req *model.Request, a *answer, emit func(*model.Response) bool) error {
	if err := m.Ready(); err != nil {
		return err
	}
	params, err := m.params(req)
	if err != nil {
		return call.Unmade(err)
	}
	stream := m.messages.NewStreaming(ctx, params)
	defer stream.Close()
	some := false
	for stream.Next() {
		some = true
		ev := stream.Current()
		piece := a.add(&ev)
		if err := bounded.CheckCalls(ctx, a.calls); err != nil {
			return err
		}
		if piece != nil && emit != nil && !emit(piece) {
			return nil
		}
		if a.done {
			return nil
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	if some {
		return call.ErrCut // the API marks the end
	}
	return nil
}

// cause converts an error of the SDK to the error that all adapters return.
func (m *Model) cause(err error) error {
	if e, ok := errors.AsType[*sdk.Error](err); ok { // in the middle of a stream
		var said fault
		r := &call.RefusalError{Status: http.StatusInternalServerError}
		if json.Unmarshal([]byte(e.RawJSON()), &said) == nil {
			r.Status, r.Message = cmp.Or(statuses[said.Error.Type], r.Status), said.Error.Message
		}
		return r
	}
	return err
}

type fault struct {
	Error struct{ Type, Message string }
}

// parse decodes an error response of the API.
func parse(r *call.RefusalError, doc []byte) {
	var said fault
	if json.Unmarshal(doc, &said) == nil && said.Error.Message != "" {
		r.Message = said.Error.Message
	}
}

// statuses are the HTTP statuses of errors that arrive after streaming has begun.
var statuses = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      call.StatusOverloaded,
}
