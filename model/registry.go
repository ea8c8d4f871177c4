package model

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parley-run/parley/internal/registry"
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

// Register adds a provider, for models of a program or another package. It panics
// if the provider has no prefix, or one that is already registered. It is called
// from init functions.
func Register(p Provider) {
	if len(p.Prefixes) == 0 {
		panic("model: a provider needs a prefix")
	}
	for _, prefix := range p.Prefixes {
		registry.Register(prefix, p)
	}
}

// unlinked maps the prefixes of model names to the packages of Parley that register
// their providers.
var unlinked = []struct{ begins, prefix, path string }{
	{"gemini", "gemini", "model/gemini"},
	{"gemma", "gemini", "model/gemini"},
	{"models/gem", "gemini", "model/gemini"},
	{"projects/", "gemini", "model/gemini"},
	{"gpt-", "openai", "model/openai"},
	{"chatgpt-", "openai", "model/openai"},
	{"o1", "openai", "model/openai"},
	{"o3", "openai", "model/openai"},
	{"o4", "openai", "model/openai"},
	{"openai/", "openai", "model/openai"},
	{"ollama", "openai", "model/openai"},
	{"claude-", "anthropic", "model/anthropic"},
	{"anthropic/", "anthropic", "model/anthropic"},
}

// New creates the model with a name, from the registered providers. If Parley has a
// package for the name that is not imported, the error names it. It needs no key: a
// model without one returns an error when it is called.
func New(name string, opts Options) (Model, error) {
	if prefix, rest, ok := strings.Cut(name, "/"); ok && rest != "" {
		if p, ok := registry.Find[Provider](prefix); ok {
			opts.Prefix = prefix
			return p.New(rest, opts)
		}
	}
	var names []string
	for _, prefix := range registry.Names[Provider]() {
		p, _ := registry.Find[Provider](prefix)
		if p.Match != nil && p.Match(name) {
			return p.New(name, opts)
		}
		if prefix == p.Prefixes[0] { // it is registered once per prefix
			names = append(names, p.Names)
		}
	}
	for _, known := range unlinked {
		if _, linked := registry.Find[Provider](known.prefix); strings.HasPrefix(name, known.begins) && !linked {
			return nil, registry.Missing(fmt.Sprintf("the provider of the model %q", name), known.path)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no model %q: no provider is linked into this program", name)
	}
	return nil, fmt.Errorf("there is no model %q: there are %s; --offline runs without any", name, strings.Join(names, "; "))
}
