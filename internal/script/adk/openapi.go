package adk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

// openAPIConfig is the configuration of an OpenAPIToolset or a RestApiTool.
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
func (a *App) openAPI(ctx context.Context, doc json.RawMessage) ([]tool.Tool, error) {
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
		if cfg.File, err = a.Locate(c.File); err != nil {
			return nil, fmt.Errorf("openapi: %w", err)
		}
	}
	if len(c.Names) > 0 {
		cfg.Filter = openapi.Only(c.Names...)
	}
	if c.Headers != nil {
		cfg.Headers = a.headers(*c.Headers)
	}
	set, err := openapi.New(ctx, cfg)
	if err != nil && cfg.File != "" { // the path is not for the author
		err = errors.New(strings.ReplaceAll(err.Error(), cfg.File, c.File))
	}
	if err != nil {
		return nil, err
	}
	return set.All(), nil
}

// headers calls a function of the author that returns headers.
func (a *App) headers(fn int) func(*tool.Context) (map[string]string, error) {
	return func(tc *tool.Context) (map[string]string, error) {
		r, err := a.run(tc, fn, "", toolScope(tc))
		if err != nil {
			return nil, err
		}
		var all map[string]string
		if err := json.Unmarshal(r.Value, &all); err != nil {
			return nil, errors.New("headerProvider should return an object of strings")
		}
		return all, nil
	}
}
