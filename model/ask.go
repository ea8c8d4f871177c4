package model

import (
	"context"
	"errors"

	"github.com/parley-run/parley/event"
)

// Ask sends one message to a model and returns the text of its response. A
// response with an ErrorCode is an error of type *ResponseError.
func Ask(ctx context.Context, m Model, text string) (string, error) {
	req := &Request{}
	req.SetContents([]*event.Content{event.Text(event.RoleUser, text)})
	for resp, err := range m.Generate(ctx, req) {
		switch {
		case err != nil:
			return "", err
		case resp.Partial:
		case resp.ErrorCode != "":
			return "", &ResponseError{Code: resp.ErrorCode, Message: resp.ErrorMessage}
		default:
			return resp.Content.Text(), nil
		}
	}
	return "", errors.New("the model ended without a response")
}
