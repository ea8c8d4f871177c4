package gemini

import (
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/settings"
)

func init() {
	model.Register(model.Provider{
		Prefixes: []string{"gemini"}, Match: match, Names: "gemini-… and gemma-…, also by their full names on Vertex AI",
		New: func(name string, o model.Options) (model.Model, error) {
			s, err := settings.Of(o)
			if err != nil {
				return nil, err
			}
			return New(name, &Options{
				APIKey: s.APIKey, VertexAI: s.VertexAI, Project: s.Project, Location: s.Location, BaseURL: s.BaseURL,
				Headers: s.Headers, Getenv: o.Getenv, Limits: s.Limits(),
			})
		},
	})
}
