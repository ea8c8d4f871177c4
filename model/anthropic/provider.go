package anthropic

import (
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/settings"
)

func init() {
	model.Register(model.Provider{
		Prefixes: []string{"anthropic"}, Match: match, Names: "claude-… and anthropic/…",
		New: func(name string, o model.Options) (model.Model, error) {
			s, err := settings.Of(o)
			if err != nil {
				return nil, err
			}
			return New(name, &Options{
				APIKey: s.APIKey, BaseURL: s.BaseURL, Headers: s.Headers, MaxTokens: s.MaxTokens, Getenv: o.Getenv, Limits: s.Limits(),
			})
		},
	})
}
