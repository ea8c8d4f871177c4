package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// Generate implements model.Model.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return m.caller.Generate(ctx, func(ctx context.Context, emit func(*model.Response) bool) (*model.Response, error) {
		a := &answer{merge: req.Stream}
		if err := m.ask(ctx, req, a, emit); err != nil {
			// The caller has received the text so far, but no calls.
			return &model.Response{Content: a.content((*event.Part).IsText), ModelVersion: a.version, Usage: usage(a.usage)}, m.cause(err)
		}
		return a.response(), nil
	})
}

// ask adds the response to a, and emits pieces as they arrive.
func (m *Model) ask(ctx context.Context, req *model.Request, a *answer, emit func(*model.Response) bool) error {
	client, err := m.connect(ctx)
	if err != nil {
		return err
	}
	contents, config, err := m.request(req)
	if err != nil {
		return call.Unmade(err)
	}
	if !req.Stream {
		resp, err := client.Models.GenerateContent(ctx, m.name, contents, config)
		if err != nil {
			return err
		}
		a.add(resp)
		return bounded.CheckCalls(ctx, a.calls)
	}
	for chunk, err := range client.Models.GenerateContentStream(ctx, m.name, contents, config) {
		if err != nil {
			return err
		}
		piece := a.add(chunk)
		if err := bounded.CheckCalls(ctx, a.calls); err != nil {
			return err
		}
		if piece != nil && !emit(piece) {
			return nil
		}
	}
	switch {
	case a.candidate.FinishReason != "" || a.blocked != nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err() // which is why the stream ended
	case len(a.parts) > 0:
		return call.ErrCut // the API marks the end
	}
	return nil
}

// cause converts an error of the SDK to the error that all adapters return.
func (m *Model) cause(err error) error {
	if e, ok := errors.AsType[genai.APIError](err); ok {
		return &call.RefusalError{Status: e.Code, Code: e.Status, Message: e.Message}
	}
	if strings.HasPrefix(err.Error(), "iterateResponseStream: ") {
		return m.caller.Unreadable(err)
	}
	return err
}

// parse decodes an error response. Vertex AI wraps it in an array if a stream was
// requested.
func parse(r *call.RefusalError, doc []byte) {
	type wire struct {
		Error struct {
			Status, Message string
			Details         []struct {
				RetryDelay string // "17s", in google.rpc.RetryInfo
			}
		}
	}
	var list []wire
	if json.Unmarshal(doc, &list) != nil || len(list) == 0 {
		list = make([]wire, 1)
		if json.Unmarshal(doc, &list[0]) != nil {
			return
		}
	}
	said := list[0].Error
	r.Code = said.Status
	if said.Message != "" {
		r.Message = said.Message
	}
	for _, detail := range said.Details {
		if d, err := time.ParseDuration(detail.RetryDelay); err == nil {
			r.After = max(r.After, d)
		}
	}
}
