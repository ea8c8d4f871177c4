package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/sse"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// maxEvent bounds an event of a stream, which may contain an image.
const maxEvent = 64 << 20

// Generate implements model.Model.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return m.caller.Generate(ctx, func(ctx context.Context, emit func(*model.Response) bool) (*model.Response, error) {
		a := &answer{}
		if err := m.ask(ctx, req, a, emit); err != nil {
			return a.incomplete(), err
		}
		return a.response(), nil
	})
}

// Ready returns an error if it is known before a call that the model cannot be called,
// because it has no key.
func (m *Model) Ready() error {
	if m.official && m.key == "" {
		return &call.RefusalError{Code: "MISSING_API_KEY", Message: "The model " + m.name +
			" needs an API key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that needs none. --offline runs without any key."}
	}
	return nil
}

// ask adds the response to a, and emits pieces as they arrive.
func (m *Model) ask(ctx context.Context, req *model.Request, a *answer, emit func(*model.Response) bool) error {
	if err := m.Ready(); err != nil {
		return err
	}
	body, err := m.request(req)
	if err != nil {
		return call.Unmade(err)
	}
	resp, err := m.post(ctx, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if !req.Stream {
		doc, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		_, err = a.add(ctx, doc)
		return m.unreadable(err)
	}
	events := sse.NewDecoder(resp.Body, maxEvent)
	for {
		ev, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			if a.reason == "" && a.said() {
				return call.ErrCut
			}
			return nil
		case err != nil && !errors.Is(err, sse.ErrIncomplete): // some servers omit the last blank line
			return err
		case string(ev.Data) == "[DONE]":
			return nil
		}
		piece, err := a.add(ctx, ev.Data)
		if err != nil {
			return m.unreadable(err)
		}
		if piece != nil && !emit(piece) {
			return nil
		}
	}
}

func (m *Model) post(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if m.key != "" {
		req.Header.Set("Authorization", "Bearer "+m.key)
	}
	for name, value := range m.headers {
		req.Header.Set(name, value)
	}
	return m.client.Do(req)
}

func (m *Model) unreadable(err error) error {
	_, refused := errors.AsType[*call.RefusalError](err)
	_, large := errors.AsType[*bounded.Error](err)
	if err == nil || refused || large {
		return err
	}
	return m.caller.Unreadable(err)
}

// fault is an error in the various formats of servers.
type fault struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"` // a name or a number
	text    string          // if there is only a text
}

func (f *fault) UnmarshalJSON(doc []byte) error {
	if json.Unmarshal(doc, &f.text) == nil {
		return nil
	}
	type plain fault
	return json.Unmarshal(doc, (*plain)(f))
}

// parse decodes an error response.
func parse(r *call.RefusalError, doc []byte) {
	var said struct {
		Error   *fault          `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(doc, &said) != nil {
		return
	}
	if said.Error == nil {
		said.Error = &fault{Message: said.Message}
		_ = json.Unmarshal(said.Detail, &said.Error.text) // a text, or nothing usable
	}
	said.Error.into(r)
}

func (f *fault) into(r *call.RefusalError) {
	if f.Message != "" {
		r.Message = f.Message
	} else if f.text != "" {
		r.Message = f.text
	}
	// The quota is exhausted; waiting does not help.
	r.Final = string(f.Code) == `"insufficient_quota"` || f.Type == "insufficient_quota"
}

// refusal returns an error in the middle of a stream, which has no status.
func (f *fault) refusal() *call.RefusalError {
	r := &call.RefusalError{Status: http.StatusInternalServerError}
	var status int
	switch {
	case json.Unmarshal(f.Code, &status) == nil && status >= 400 && status < 600:
		r.Status = status
	case f.Type == "invalid_request_error":
		r.Status = http.StatusBadRequest
	case f.Type == "rate_limit_error" || f.Type == "rate_limit_exceeded" || string(f.Code) == `"rate_limit_exceeded"`:
		r.Status = http.StatusTooManyRequests
	case f.Type == "overloaded_error":
		r.Status = call.StatusOverloaded
	}
	f.into(r)
	return r
}
