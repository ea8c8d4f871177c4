package adk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/model"
)

// jsModel is a model that is written in JavaScript.
type jsModel struct {
	app  *App
	name string
	fn   int
}

func (m *jsModel) Name() string { return m.name }

func (m *jsModel) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		asked := requestOf(req)
		withoutOwnIDs(asked.Contents)
		params, err := json.Marshal(map[string]any{"request": asked, "stream": req.Stream})
		if err != nil {
			yield(nil, fmt.Errorf("encode a request: %w", err))
			return
		}
		stopped := false
		err = m.app.stream(ctx, m.fn, string(params), nil, func(item json.RawMessage) error {
			resp, err := responseOf(item)
			if err != nil {
				return err
			}
			if resp == nil {
				return nil
			}
			if !yield(resp, nil) {
				stopped = true
				return errStopped
			}
			return nil
		})
		if err == nil || stopped {
			return
		}
		if thrown, ok := errors.AsType[*engine.Error](err); ok && ctx.Err() == nil {
			yield(refusal(thrown.Message), nil)
			return
		}
		yield(nil, err)
	}
}

// SchemaOrTools is for model.SchemaOrTools. Agents know nothing of the model that
// the author's code calls, and the packages take it for one that cannot have both.
func (m *jsModel) SchemaOrTools() bool { return true }

// refusal is the response of a model that has thrown an error, as the packages
// make it: errors of their clients have the answer of the provider as their text.
func refusal(text string) *model.Response {
	resp := &model.Response{ErrorCode: "UNKNOWN_ERROR", ErrorMessage: text}
	var answer struct {
		Error *struct {
			Code    json.RawMessage `json:"code"`
			Message string          `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(text), &answer) != nil || answer.Error == nil {
		return resp
	}
	if code := strings.Trim(string(answer.Error.Code), `"`); code != "" && code != "null" && code != "0" {
		resp.ErrorCode = code
	}
	resp.ErrorMessage = cmp.Or(answer.Error.Message, text)
	return resp
}
