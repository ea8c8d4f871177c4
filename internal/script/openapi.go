package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

// openAPIConfig is what OpenAPIToolset and RestApiTool say about their tools.
type openAPIConfig struct {
	Spec          json.RawMessage        `json:"spec"` // the document, or its text
	File          string                 `json:"file"`
	URL           string                 `json:"url"`
	Names         []string               `json:"names"` // of the tools; none for all
	Prefix        string                 `json:"prefix"`
	PreserveNames bool                   `json:"preserveNames"`
	BaseURL       string                 `json:"baseUrl"`
	Headers       *int                   `json:"headers"` // a function
	Scheme        *credential.Scheme     `json:"scheme"`
	Credential    *credential.Credential `json:"credential"`
	CredentialKey string                 `json:"credentialKey"`
}

// openAPI makes the tools of a document.
func (in *instance) openAPI(ctx context.Context, doc json.RawMessage) ([]tool.Tool, error) {
	var c openAPIConfig
	if err := json.Unmarshal(doc, &c); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	cfg := openapi.Config{
		URL: c.URL, Prefix: c.Prefix, PreserveNames: c.PreserveNames, BaseURL: c.BaseURL,
		Scheme: c.Scheme, Credential: c.Credential, CredentialKey: c.CredentialKey,
	}
	if !isNull(c.Spec) {
		cfg.Spec = c.Spec
		var text string
		if json.Unmarshal(c.Spec, &text) == nil {
			cfg.Spec = []byte(text)
		}
	}
	var err error
	if c.File != "" {
		if cfg.File, err = in.host.files.locate(c.File); err != nil {
			return nil, fmt.Errorf("openapi: %w", err)
		}
	}
	if len(c.Names) > 0 {
		cfg.Filter = openapi.Only(c.Names...)
	}
	if c.Headers != nil {
		cfg.Headers = in.headers(*c.Headers)
	}
	set, err := openapi.New(ctx, cfg)
	if err != nil && cfg.File != "" { // where the server keeps it is nobody's business
		err = errors.New(strings.ReplaceAll(err.Error(), cfg.File, c.File))
	}
	if err != nil {
		return nil, err
	}
	return set.All(), nil
}

// headers are what a function of the author's wants to be sent along.
func (in *instance) headers(fn int) func(*tool.Context) (map[string]string, error) {
	return func(tc *tool.Context) (map[string]string, error) {
		r, err := in.run(tc, fn, "", aboutTool(tc))
		if err != nil {
			return nil, err
		}
		var all map[string]string
		if err := json.Unmarshal(r.value, &all); err != nil {
			return nil, errors.New("headerProvider should return an object of strings")
		}
		return all, nil
	}
}

// locate is where a file of the agent's directory really is.
func (f files) locate(name string) (string, error) {
	r := fileRequest{Path: name, Call: "open", Shown: name}
	rel, ok := f.inside(name)
	if !ok {
		return "", noAccess(r)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(f.real, rel))
	if err != nil {
		return "", fileError(r, err)
	}
	if _, ok := f.inside(path); !ok {
		return "", noAccess(r)
	}
	return path, nil
}
