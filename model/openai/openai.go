// Package openai calls every server that implements OpenAI's chat completions:
// OpenAI itself, Ollama, vLLM, llama.cpp, gateways.
package openai

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// Options are the URL of the model and the credentials for it. Fields that are not
// set are read with Getenv, if that is set: os.Getenv reads the environment of the
// process.
type Options struct {
	// APIKey, or OPENAI_API_KEY. Servers other than OpenAI's may need none.
	APIKey string
	// BaseURL ends with the version, as in http://localhost:8080/v1. The default is
	// OPENAI_BASE_URL, or that of OpenAI.
	BaseURL string
	// Ollama selects the server at OLLAMA_HOST, or at localhost:11434, and the key
	// in OLLAMA_API_KEY.
	Ollama bool
	// Headers are sent with every request.
	Headers map[string]string
	// HTTPClient makes the requests; nil means a default.
	HTTPClient *http.Client
	// Getenv returns an environment variable. nil means that there is no
	// environment.
	Getenv func(string) string
	// Limits are the timeouts, retries and size limits.
	Limits model.Limits
}

// Model is one model behind chat completions.
type Model struct {
	name     string
	url      string
	key      string
	headers  map[string]string
	official bool // the server of OpenAI, which rejects unknown members
	caller   call.Caller
	client   *http.Client
}

const official = "https://api.openai.com/v1"

// New returns the model with a name such as gpt-5. It needs no key: a model without
// one returns an error when it is called.
func New(name string, opts *Options) (*Model, error) {
	if name == "" {
		return nil, fmt.Errorf("new OpenAI model: %q is not the name of a model", name)
	}
	if opts == nil {
		opts = &Options{}
	}
	env := opts.Getenv
	if env == nil {
		env = func(string) string { return "" }
	}
	m := &Model{name: name, headers: opts.Headers}
	api, base, key := "the OpenAI API", cmp.Or(env("OPENAI_BASE_URL"), official), env("OPENAI_API_KEY")
	if opts.Ollama {
		api, base, key = "Ollama", ollamaURL(env("OLLAMA_HOST")), env("OLLAMA_API_KEY")
	}
	base = cmp.Or(opts.BaseURL, base)
	at, err := url.Parse(base)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("new OpenAI model %s: the base URL must be like https://host/v1", name)
	}
	m.official = at.Hostname() == "api.openai.com"
	if !m.official && api == "the OpenAI API" {
		api = "the API of the model"
	}
	m.key = cmp.Or(opts.APIKey, key)
	m.url = at.JoinPath("chat/completions").String()
	m.caller = call.Caller{API: api, Limits: opts.Limits, Secrets: call.Secrets(m.key, opts.Headers)}
	m.client = (&call.Transport{Limits: opts.Limits, Parse: parse}).Client(opts.HTTPClient)
	return m, nil
}

// ollamaURL parses OLLAMA_HOST like Ollama: a host, a port and a scheme, each of
// which may be missing.
func ollamaURL(host string) string {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(host), "://")
	if !ok {
		scheme, rest = "http", scheme
	}
	rest = strings.TrimRight(rest, "/")
	port := map[string]string{"http": "11434", "https": "443"}[scheme]
	if ok && scheme == "http" {
		port = "80"
	}
	at := &url.URL{Scheme: scheme, Host: rest}
	switch {
	case rest == "":
		at.Host = "localhost:" + port
	case at.Port() == "":
		at.Host = strings.TrimSuffix(rest, ":") + ":" + port
	}
	if at.Hostname() == "0.0.0.0" || at.Hostname() == "" { // the address that the server listens on, which is this machine
		at.Host = "localhost:" + at.Port()
	}
	return at.String() + "/v1"
}

// Name identifies the model.
func (m *Model) Name() string { return m.name }

var own = regexp.MustCompile(`^(gpt-|chatgpt-|o[1-9](-|$)|ft:(gpt-|o[1-9]))`)

// match reports whether name is the name of a model of OpenAI.
func match(name string) bool { return own.MatchString(name) }
