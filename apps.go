package parley

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/script"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/gemini"
	"github.com/parley-run/parley/model/offline"
)

// apps are the applications of a server: those that were given in code, and
// those that were found in a directory.
type apps struct {
	code  map[string]*agent.Agent
	found *script.Apps // nil without a directory
}

func (a *apps) Names() []string {
	names := slices.Collect(maps.Keys(a.code))
	if a.found != nil {
		names = append(names, a.found.Names()...)
	}
	slices.Sort(names)
	return names
}

func (a *apps) Agent(app string) (*agent.Agent, error) {
	if root, ok := a.code[app]; ok {
		return root, nil
	}
	if a.found == nil {
		return nil, run.ErrUnknownApp
	}
	root, ok, err := a.found.Agent(app)
	switch {
	case !ok:
		return nil, run.ErrUnknownApp
	case root == nil:
		return nil, &run.AppError{Cause: err}
	}
	return root, nil
}

func (a *apps) Language(app string) string {
	if _, ok := a.code[app]; ok {
		return "go"
	}
	return "typescript"
}

// models makes the models that agents in TypeScript name.
func (c *Config) models(name string, options json.RawMessage, getenv func(string) string) (model.Model, error) {
	if m, ok := c.Models[name]; ok {
		return m, nil
	}
	if c.Offline {
		return offline.New(), nil
	}
	if !gemini.Match(name) {
		return nil, fmt.Errorf("the model %q is not supported by this version: use a gemini-… model, or --offline to run without any", name)
	}
	opts := gemini.Options{Getenv: getenv}
	if len(options) > 0 {
		var given struct {
			APIKey   string            `json:"apiKey"`
			VertexAI bool              `json:"vertexai"`
			Project  string            `json:"project"`
			Location string            `json:"location"`
			Headers  map[string]string `json:"headers"`
		}
		if err := json.Unmarshal(options, &given); err != nil {
			return nil, fmt.Errorf("the options of the model %q: %w", name, err)
		}
		opts.APIKey, opts.VertexAI, opts.Project = given.APIKey, given.VertexAI, given.Project
		opts.Location, opts.Headers = given.Location, given.Headers
	}
	return gemini.New(name, &opts)
}
