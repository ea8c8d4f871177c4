package parley

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/registry"
	"github.com/parley-run/parley/model"
)

// NewModel creates the model with a name such as gemini-2.5-flash, gpt-5,
// ollama/llama3.2 or claude-sonnet-4-5, with keys and addresses from the environment
// of the process. An agent that a server runs needs only the name: model.Named.
func NewModel(name string) (model.Model, error) {
	m, err := model.New(name, model.Options{Getenv: os.Getenv}) //nolint:forbidigo // that is what it is for
	if err != nil {
		return nil, fmt.Errorf("parley: %w", err)
	}
	return m, nil
}

// models makes the models that agents name.
func (c *Config) models(name string, options json.RawMessage, getenv func(string) string) (model.Model, error) {
	if m, ok := c.Models[name]; ok {
		return m, nil
	}
	if c.Offline {
		return c.offline()
	}
	return model.New(name, model.Options{Getenv: getenv, Settings: options})
}

// offline is the model that replaces all others with Config.Offline.
func (c *Config) offline() (model.Model, error) {
	m, ok := registry.Find[model.Model]("offline")
	if !ok {
		return nil, inField("Offline", registry.Missing("the model without a key", "model/offline"))
	}
	return m, nil
}

// named are the models that agents in Go name, each made once.
func (c *Config) named() func(string) (model.Model, error) {
	var mu sync.Mutex
	made := map[string]model.Model{}
	return func(name string) (model.Model, error) {
		mu.Lock()
		defer mu.Unlock()
		if m := made[name]; m != nil {
			return m, nil
		}
		m, err := c.models(name, nil, os.Getenv) //nolint:forbidigo // agents expect the environment of the process
		if err == nil {
			made[name] = m
		}
		return m, err
	}
}

// checkModels refuses agents that name a model which does not exist, and tells
// of settings that have no effect.
func checkModels(app string, root *agent.Agent, find func(string) (model.Model, error), log *slog.Logger) error {
	for a, m := range agentrt.Models(root) {
		if name, ok := m.(model.Named); ok {
			var err error
			if m, err = find(string(name)); err != nil {
				return fmt.Errorf("the agent %s: %w", a.Name(), err)
			}
		}
		if ignored := model.Ignored(m, agentrt.ModelConfig(a)); len(ignored) > 0 {
			slices.Sort(ignored)
			log.Warn("settings have no effect, because the model does not have them", "app", app, "agent", a.Name(), "model", m.Name(), "settings", ignored)
		}
	}
	return nil
}
