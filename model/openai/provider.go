package openai

import (
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/settings"
)

func init() {
	model.Register(model.Provider{
		Prefixes: []string{"openai", "ollama", "ollama_chat"}, Match: match, Names: "gpt-…, o1… and openai/… for every compatible server, ollama/…",
		New: func(name string, o model.Options) (model.Model, error) {
			s, err := settings.Of(o)
			if err != nil {
				return nil, err
			}
			return New(name, &Options{
				APIKey: s.APIKey, BaseURL: s.BaseURL, Headers: s.Headers, Ollama: o.Prefix == "ollama" || o.Prefix == "ollama_chat",
				Getenv: o.Getenv, Limits: s.Limits(),
			})
		},
	})
}
