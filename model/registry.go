package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Provider creates the models of one provider.
type Provider struct {
	// Prefixes are the prefixes of the names of its models, up to the slash: openai
	// for openai/gpt-5.
	Prefixes []string
	// Match reports whether a name without a prefix is one of its models; nil
	// matches none.
	Match func(name string) bool
	// Names describes these names for error messages.
	Names string
	// New creates a model. The name is without its prefix, which is in opts.
	New func(name string, opts Options) (Model, error)
}

// Options are the options of a model that is selected by name.
type Options struct {
	// Prefix is the part of the name before the slash, empty for none.
	Prefix string
	// Getenv returns an environment variable, such as one with a key.
	Getenv func(string) string
	// Settings is an object with the author's options besides the name, such as
	// baseUrl; nil for none.
	Settings json.RawMessage
}

var providers struct {
	mu   sync.Mutex
	list []Provider
}

// Register adds a provider, for models of a program or another package. It panics
// if one of its prefixes is already registered. It is called from init functions.
func Register(p Provider) {
	providers.mu.Lock()
	defer providers.mu.Unlock()
	for _, other := range providers.list {
		for _, prefix := range p.Prefixes {
			if slices.Contains(other.Prefixes, prefix) {
				panic("model: Register is called twice for the prefix " + prefix)
			}
		}
	}
	providers.list = append(providers.list, p)
}

// unlinked maps the prefixes of model names to the packages of Parley that register
// their providers.
var unlinked = []struct{ begins, prefix, path string }{
	{"gemini", "gemini", "github.com/parley-run/parley/model/gemini"},
	{"gemma", "gemini", "github.com/parley-run/parley/model/gemini"},
	{"models/gem", "gemini", "github.com/parley-run/parley/model/gemini"},
	{"projects/", "gemini", "github.com/parley-run/parley/model/gemini"},
	{"gpt-", "openai", "github.com/parley-run/parley/model/openai"},
	{"chatgpt-", "openai", "github.com/parley-run/parley/model/openai"},
	{"o1", "openai", "github.com/parley-run/parley/model/openai"},
	{"o3", "openai", "github.com/parley-run/parley/model/openai"},
	{"o4", "openai", "github.com/parley-run/parley/model/openai"},
	{"openai/", "openai", "github.com/parley-run/parley/model/openai"},
	{"ollama", "openai", "github.com/parley-run/parley/model/openai"},
	{"claude-", "anthropic", "github.com/parley-run/parley/model/anthropic"},
	{"anthropic/", "anthropic", "github.com/parley-run/parley/model/anthropic"},
}

// New creates the model with a name, from the registered providers. If Parley has a
// package for the name that is not imported, the error names it. It needs no key: a
// model without one returns an error when it is called.
func New(name string, opts Options) (Model, error) {
	providers.mu.Lock()
	list := slices.Clone(providers.list)
	providers.mu.Unlock()
	if prefix, rest, ok := strings.Cut(name, "/"); ok && rest != "" {
		for _, p := range list {
			if slices.Contains(p.Prefixes, prefix) {
				opts.Prefix = prefix
				return p.New(rest, opts)
			}
		}
	}
	names := make([]string, len(list))
	for i, p := range list {
		if p.Match != nil && p.Match(name) {
			return p.New(name, opts)
		}
		names[i] = p.Names
	}
	for _, known := range unlinked {
		linked := slices.ContainsFunc(list, func(p Provider) bool { return slices.Contains(p.Prefixes, known.prefix) })
		if strings.HasPrefix(name, known.begins) && !linked {
			return nil, fmt.Errorf("the provider of the model %q is not linked into this program: import _ %q", name, known.path)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no model %q: no provider is linked into this program", name)
	}
	return nil, fmt.Errorf("there is no model %q: there are %s; --offline runs without any", name, strings.Join(names, "; "))
}
