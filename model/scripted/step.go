package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// Step answers one call. A Step may be used for any number of calls.
type Step func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error]

// Say answers with text; if the request asks for a stream, word by word and then as
// a whole.
func Say(text string) Step {
	var responses []*model.Response
	for word := range strings.SplitAfterSeq(text, " ") {
		if word != "" { // after a space at the end
			piece := model.Text(word)
			piece.Partial = true
			responses = append(responses, piece)
		}
	}
	whole := model.Text(text)
	whole.FinishReason = "STOP"
	return Respond(append(responses, whole)...)
}

// Call answers with a call of one tool. The arguments are anything that
// encodes to a JSON object, nil for none; Call panics if they do not encode,
// since that is a mistake in the test.
func Call(name string, args any) Step {
	raw := json.RawMessage("{}")
	if args != nil {
		var err error
		if raw, err = json.Marshal(args); err != nil {
			panic(fmt.Sprintf("scripted: arguments of %s: %v", name, err))
		}
	}
	return Calls(&event.FunctionCall{Name: name, Args: raw})
}

// Calls answers with several calls.
func Calls(calls ...*event.FunctionCall) Step {
	c := &event.Content{Role: event.RoleModel}
	for _, call := range calls {
		c.Parts = append(c.Parts, &event.Part{FunctionCall: call})
	}
	return Respond(&model.Response{Content: c, FinishReason: "STOP"})
}

// Error answers with an error of the model itself, such as a refusal.
func Error(code, message string) Step {
	return Respond(&model.Response{ErrorCode: code, ErrorMessage: message})
}

// Respond answers with the given responses; without a stream, partial ones are
// omitted.
func Respond(responses ...*model.Response) Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			for _, r := range responses {
				if err := ctx.Err(); err != nil {
					yield(nil, err)
					return
				}
				if r.Partial && !req.Stream {
					continue
				}
				if !yield(clone(r), nil) {
					return
				}
			}
		}
	}
}

// Fail fails as if the model could not be reached.
func Fail(err error) Step {
	return func(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) { yield(nil, err) }
	}
}

// Wait delays the answer until the channel is closed or has a value. With a nil
// channel there is no answer: the call ends when its context does.
func Wait(until <-chan struct{}, answer Step) Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			select {
			case <-until:
			case <-ctx.Done():
			}
			// Both may have been ready; the end of the call takes precedence.
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			answer(ctx, req)(yield)
		}
	}
}

// clone gives every call its own parts: the runtime assigns ids to the function
// calls that it receives.
func clone(r *model.Response) *model.Response {
	out := *r
	if r.Content == nil {
		return &out
	}
	out.Content = &event.Content{Role: r.Content.Role, Parts: make([]*event.Part, len(r.Content.Parts))}
	for i, p := range r.Content.Parts {
		part := *p
		if p.FunctionCall != nil {
			call := *p.FunctionCall
			part.FunctionCall = &call
		}
		out.Content.Parts[i] = &part
	}
	return &out
}
