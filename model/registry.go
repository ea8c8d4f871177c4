package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Provider makes the models of one maker.
type Provider struct {
	// Prefixes are what names of its models may start with, up to the slash:
	// openai for openai/gpt-5.
	Prefixes []string
	// Match reports whether a name without such a prefix is one of its models.
	Match func(name string) bool
	// Names tells a person which names these are.
	Names string
	// New makes a model. The prefix is the one that the name had, and is no
	// longer part of the name.
	New func(name string, opts Options) (Model, error)
}

// Options of a model that is chosen by its name.
type Options struct {
	// Prefix is what the name had before the slash, empty for none.
	Prefix string
	// Getenv looks a variable up, such as one with a key.
	Getenv func(string) string
	// Settings are an object with what the author gave beside the name, such
	// as baseUrl; nil for nothing.
	Settings json.RawMessage
}

// Registry makes models of names.
type Registry []Provider

// New makes the model with a name. It needs no key: a model without one says so
// when it is asked.
func (r Registry) New(name string, opts Options) (Model, error) {
	if prefix, rest, ok := strings.Cut(name, "/"); ok && rest != "" {
		for _, p := range r {
			if slices.Contains(p.Prefixes, prefix) {
				opts.Prefix = prefix
				return p.New(rest, opts)
			}
		}
	}
	names := make([]string, len(r))
	for i, p := range r {
		if p.Match(name) {
			return p.New(name, opts)
		}
		names[i] = p.Names
	}
	return nil, fmt.Errorf("there is no model %q: there are %s; --offline runs without any", name, strings.Join(names, "; "))
}
