//go:build unix

package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/hostile"
	"github.com/parley-run/parley/internal/testkit/modelserver"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/anthropic"
	"github.com/parley-run/parley/model/gemini"
	"github.com/parley-run/parley/model/openai"
)

// models are the adapters to models.
func models() (all []adapter) {
	for _, d := range modelserver.Dialects {
		for _, stream := range []bool{false, true} {
			all = append(all, adapter{
				name: fmt.Sprintf("%s/stream=%t", d.Name(), stream), calls: true,
				stream: stream || d.Name() == "anthropic", // which is always asked for a stream
				prepare: func(t *testing.T, m hostile.Misbehaviour) (server, func(context.Context) error) {
					t.Helper()
					speech := hostile.Model
					if m.Calls {
						speech = hostile.ModelCalls
					}
					srv := hostile.Start(t, m, everything(speech(d, stream || d.Name() == "anthropic")))
					one := newModel(t, d.Name(), srv.URL)
					return srv, func(ctx context.Context) error { return generate(ctx, one, stream) }
				},
			})
		}
	}
	return all
}

func newModel(t *testing.T, provider, address string) (m model.Model) {
	t.Helper()
	const key = "key-0123456789-secret"
	var err error
	once := model.Limits{Tries: 1} // or it would be asked again after a while
	switch provider {
	case "gemini":
		m, err = gemini.New("gemini-x", &gemini.Options{APIKey: key, BaseURL: address, Limits: once})
	case "openai":
		m, err = openai.New("gpt-x", &openai.Options{APIKey: key, BaseURL: address + "/v1", Limits: once})
	case "anthropic":
		m, err = anthropic.New("claude-x", &anthropic.Options{APIKey: key, BaseURL: address, Limits: once})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func generate(ctx context.Context, m model.Model, stream bool) error {
	req := &model.Request{Stream: stream}
	req.SetContents([]*event.Content{event.Text(event.RoleUser, "Hello")})
	for resp, err := range m.Generate(ctx, req) {
		if err != nil {
			return err
		}
		if resp.ErrorCode != "" {
			return errors.New(resp.ErrorCode + ": " + resp.ErrorMessage)
		}
	}
	return nil
}
