package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"strings"

	"google.golang.org/genai"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

var errStopped = errors.New("nobody listens any more")

// Generate runs one model call; see model.Model.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		a := &answer{merge: req.Stream}
		err := m.ask(ctx, req, a, func(piece *model.Response) bool { return yield(piece, nil) })
		var refused *apiError
		if inStream, ok := errors.AsType[genai.APIError](err); ok {
			refused = &apiError{code: inStream.Code, status: inStream.Status, message: inStream.Message}
		}
		switch {
		case err == nil:
			yield(a.response(), nil)
		case errors.Is(err, errStopped):
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
		case refused != nil, errors.As(err, &refused):
			yield(&model.Response{
				ErrorCode: refused.name(), ErrorMessage: m.show(cmp.Or(refused.message, "The Gemini API gave no reason.")),
				// What was said so far was heard. What was to be called was not.
				Content: a.content((*event.Part).IsText), ModelVersion: a.version, Usage: usage(a.usage),
			}, nil)
		default:
			yield(nil, m.failure(err))
		}
	}
}

// ask adds everything that the model says to a, and emits pieces on the way.
func (m *Model) ask(ctx context.Context, req *model.Request, a *answer, emit func(*model.Response) bool) error {
	client, err := m.connect(ctx)
	if err != nil {
		return err
	}
	contents, config, err := m.request(req)
	if err != nil {
		return &failure{"the request cannot be made: " + err.Error(), err}
	}
	if !req.Stream {
		resp, err := client.Models.GenerateContent(ctx, m.name, contents, config)
		if err == nil {
			a.add(resp)
		}
		return err
	}
	for chunk, err := range client.Models.GenerateContentStream(ctx, m.name, contents, config) {
		if err != nil {
			return err
		}
		if piece := a.add(chunk); piece != nil && !emit(piece) {
			return errStopped
		}
	}
	if a.candidate.FinishReason == "" {
		return ctx.Err() // the reason why the stream ended, if there is one
	}
	return nil
}

// failure is an error whose text may be shown: it holds no address and no
// secret, and not the answer that could not be read.
type failure struct {
	text  string
	cause error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.cause }

func (m *Model) failure(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, shape := errors.AsType[*json.UnmarshalTypeError](err)
	if syntax || shape || strings.HasPrefix(err.Error(), "iterateResponseStream: ") {
		return &failure{"the Gemini API sent something that cannot be read", err}
	}
	return &failure{"the call of the Gemini API failed: " + m.show(err.Error()), err}
}

// show is a text from outside as it may reach a client.
func (m *Model) show(text string) string {
	const most = 2000
	if text = m.secrets.Replace(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}
