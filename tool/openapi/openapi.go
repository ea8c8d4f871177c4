// Package openapi creates tools from an OpenAPI document: one for each operation.
//
// A model sees an operation as a function with one list of arguments, whether
// they are in the path, the query, a header, a cookie or the body. A call
// puts each argument where the document says, adds the credential that the
// operation needs, and returns the response of the API.
package openapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/tool"
)

// Config selects the document, and says how to call its API. Exactly one of
// Spec, File and URL must be set.
type Config struct {
	// Spec is the document: OpenAPI 3.0 or 3.1, in JSON or YAML.
	Spec []byte
	// File is the path of the document. It may refer to other files in its
	// directory and below, and to nothing else.
	File string
	// URL is the URL of the document, which Client fetches.
	URL string

	// Filter selects the operations that become tools, by the name of the tool
	// without Prefix. nil selects all. See Only.
	Filter func(name string) bool
	// Prefix is put before the name of every tool, with an underscore.
	Prefix string
	// PreserveNames keeps the names of arguments as in the document. Otherwise they
	// are converted to snake_case, like the names of tools.
	PreserveNames bool

	// BaseURL is the URL of the API, instead of the one in the document.
	BaseURL string
	// Client makes the calls. The default has a timeout of one minute. A redirect
	// to another host gets neither headers nor credentials, with any client.
	Client *http.Client
	// Headers returns headers for a call. Without Scheme and Credential, they
	// count as the login.
	Headers func(ctx *tool.Context) (map[string]string, error)

	// Scheme is how the API expects credentials. It applies to every tool,
	// except where the document says that an operation needs none. Without it,
	// the schemes of the document apply.
	Scheme *credential.Scheme
	// Credential is the configured credential. An operation that needs a login
	// uses the first of its schemes that fits it.
	Credential *credential.Credential
	// CredentialKey names the login; see credential.Config.
	CredentialKey string
}

// Only returns a Filter that selects the named tools.
func Only(names ...string) func(name string) bool {
	names = slices.Clone(names)
	return func(name string) bool { return slices.Contains(names, name) }
}

// Toolset provides the tools of one document. It is safe for concurrent use.
type Toolset struct {
	tools []tool.Tool
}

var _ tool.Toolset = (*Toolset)(nil)

// New reads a document, validates it, and creates its tools. An error about the
// document includes the location.
func New(ctx context.Context, cfg Config) (*Toolset, error) {
	set, err := build(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return set, nil
}

// Tools returns the tools. It implements tool.Toolset.
func (s *Toolset) Tools(*tool.Context) ([]tool.Tool, error) { return s.tools, nil }

// Fixed implements tool.FixedToolset.
func (*Toolset) Fixed() {}

// All returns a new slice of the tools, in the order of their paths and methods.
func (s *Toolset) All() []tool.Tool { return slices.Clone(s.tools) }

// Tool returns the tool with a name, Prefix included.
func (s *Toolset) Tool(name string) (tool.Tool, bool) {
	at := slices.IndexFunc(s.tools, func(t tool.Tool) bool { return t.Declaration().Name == name })
	if at < 0 {
		return nil, false
	}
	return s.tools[at], true
}

func build(ctx context.Context, cfg Config) (set *Toolset, err error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	api := &api{client: guard(cfg.Client), headers: cfg.Headers}
	// The library that reads documents may panic on invalid ones.
	defer func() {
		if r := recover(); r != nil {
			set, err = nil, fmt.Errorf("the document cannot be read: %v", r)
		}
	}()
	doc, err := load(ctx, cfg, api.client)
	if err != nil {
		return nil, err
	}
	b := &builder{cfg: cfg, doc: doc, api: api, names: map[string]bool{}}
	if err := b.servers(); err != nil {
		return nil, err
	}
	return b.build()
}

// check checks what does not depend on the document.
func (cfg *Config) check() error {
	sources := 0
	for _, given := range []bool{cfg.Spec != nil, cfg.File != "", cfg.URL != ""} {
		if given {
			sources++
		}
	}
	if sources != 1 {
		return errors.New("set exactly one of Spec, File and URL")
	}
	if cfg.Prefix != "" && (snake(cfg.Prefix) == "" || len(cfg.Prefix) > maxName/2 ||
		strings.ContainsFunc(cfg.Prefix, func(c rune) bool { return !isWord(c) })) {
		return fmt.Errorf("the prefix %q should be at most %d letters, digits and underscores", cfg.Prefix, maxName/2)
	}
	if cfg.BaseURL != "" {
		if u, err := url.Parse(cfg.BaseURL); err != nil || !isWeb(u) {
			return errors.New("BaseURL should be an address that begins with https:// or http://")
		}
	}
	if cfg.Scheme != nil {
		login := credential.Config{Scheme: cfg.Scheme, Raw: cfg.Credential, CredentialKey: cfg.CredentialKey}
		if err := login.Validate(); err != nil {
			return fmt.Errorf("the login: %w", err)
		}
	}
	return nil
}

// isWeb reports whether u is an absolute URL that can be called.
func isWeb(u *url.URL) bool { return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" }
