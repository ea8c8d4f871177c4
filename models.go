package parley

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/anthropic"
	"github.com/parley-run/parley/model/gemini"
	"github.com/parley-run/parley/model/offline"
	"github.com/parley-run/parley/model/openai"
)

// registry has the models that can be chosen by name.
var registry = model.Registry{
	{
		Prefixes: []string{"gemini"}, Match: gemini.Match, Names: "gemini-… and gemma-…, also by their full names on Vertex AI",
		New: func(name string, o model.Options) (model.Model, error) {
			s, err := settings(o)
			if err != nil {
				return nil, err
			}
			return gemini.New(name, &gemini.Options{
				APIKey: s.APIKey, VertexAI: s.VertexAI, Project: s.Project, Location: s.Location, BaseURL: s.BaseURL,
				Headers: s.Headers, Getenv: o.Getenv, Limits: s.limits(),
			})
		},
	},
	{
		Prefixes: []string{"openai", "ollama", "ollama_chat"}, Match: openai.Match, Names: "gpt-…, o1… and openai/… for every compatible server, ollama/…",
		New: func(name string, o model.Options) (model.Model, error) {
			s, err := settings(o)
			if err != nil {
				return nil, err
			}
			return openai.New(name, &openai.Options{
				APIKey: s.APIKey, BaseURL: s.BaseURL, Headers: s.Headers, Ollama: o.Prefix == "ollama" || o.Prefix == "ollama_chat",
				Getenv: o.Getenv, Limits: s.limits(),
			})
		},
	},
	{
		Prefixes: []string{"anthropic"}, Match: anthropic.Match, Names: "claude-… and anthropic/…",
		New: func(name string, o model.Options) (model.Model, error) {
			s, err := settings(o)
			if err != nil {
				return nil, err
			}
			return anthropic.New(name, &anthropic.Options{
				APIKey: s.APIKey, BaseURL: s.BaseURL, Headers: s.Headers, MaxTokens: s.MaxTokens, Getenv: o.Getenv, Limits: s.limits(),
			})
		},
	},
}

// modelSettings are what an author may give beside a name.
type modelSettings struct {
	APIKey     string            `json:"apiKey"`
	BaseURL    string            `json:"baseUrl"`
	Headers    map[string]string `json:"headers"`
	MaxTokens  int64             `json:"maxTokens"`
	MaxRetries *int              `json:"maxRetries"`
	Timeout    float64           `json:"timeout"` // in milliseconds
	VertexAI   bool              `json:"vertexai"`
	Project    string            `json:"project"`
	Location   string            `json:"location"`
}

func settings(o model.Options) (s modelSettings, err error) {
	if len(o.Settings) > 0 {
		if err = json.Unmarshal(o.Settings, &s); err != nil {
			err = fmt.Errorf("the options of the model: %w", err)
		}
	}
	return s, err
}

func (s *modelSettings) limits() (l model.Limits) {
	if s.MaxRetries != nil {
		l.Tries = max(*s.MaxRetries, 0) + 1
	}
	l.FirstByte = time.Duration(s.Timeout * float64(time.Millisecond))
	l.Idle = l.FirstByte
	return l
}

// NewModel makes the model with a name such as gemini-2.5-flash, gpt-5,
// ollama/llama3.2 or claude-sonnet-4-5, with keys and addresses out of the
// process's environment. An agent that a server runs can have the name alone:
// model.Named.
func NewModel(name string) (model.Model, error) {
	m, err := registry.New(name, model.Options{Getenv: os.Getenv}) //nolint:forbidigo // that is what it is for
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
		return offline.New(), nil
	}
	return registry.New(name, model.Options{Getenv: getenv, Settings: options})
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
	for a, m := range root.Models() {
		if name, ok := m.(model.Named); ok {
			var err error
			if m, err = find(string(name)); err != nil {
				return fmt.Errorf("the agent %s: %w", a.Name(), err)
			}
		}
		if ignored := model.Ignored(m, a.ModelConfig()); len(ignored) > 0 {
			slices.Sort(ignored)
			log.Warn("settings have no effect, because the model does not have them", "app", app, "agent", a.Name(), "model", m.Name(), "settings", ignored)
		}
	}
	return nil
}
