// Package anthropic calls Anthropic's Claude models.
package anthropic

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// Options are the URL of the model and the credentials for it. Fields that are not
// set are read with Getenv, if that is set: os.Getenv reads the environment of the
// process.
type Options struct {
	// APIKey, or ANTHROPIC_API_KEY.
	APIKey string
	// BaseURL, or ANTHROPIC_BASE_URL, or that of Anthropic.
	BaseURL string
	// Headers are sent with every request.
	Headers map[string]string
	// MaxTokens limits an answer if the request does not; 0 means the limit of the
	// model. The API requires a number.
	MaxTokens int64
	// HTTPClient makes the requests; nil means a default.
	HTTPClient *http.Client
	// Getenv returns an environment variable. nil means that there is no
	// environment.
	Getenv func(string) string
	// Limits are the timeouts, retries and size limits.
	Limits model.Limits
}

// Model is one Claude model.
type Model struct {
	name      string
	needsKey  bool
	maxTokens int64
	caller    call.Caller
	messages  sdk.MessageService
}

const official = "https://api.anthropic.com/"

// New returns the model with a name such as claude-sonnet-4-5. It needs no key: a
// model without one returns an error when it is called.
func New(name string, opts *Options) (*Model, error) {
	if name == "" {
		return nil, fmt.Errorf("new Claude model: %q is not the name of a model", name)
	}
	if opts == nil {
		opts = &Options{}
	}
	env := opts.Getenv
	if env == nil {
		env = func(string) string { return "" }
	}
	base := cmp.Or(opts.BaseURL, env("ANTHROPIC_BASE_URL"), official)
	at, err := url.Parse(base)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("new Claude model %s: the base URL must be like https://host", name)
	}
	key := cmp.Or(opts.APIKey, env("ANTHROPIC_API_KEY"))
	m := &Model{name: name, maxTokens: cmp.Or(opts.MaxTokens, longest(name))}
	m.needsKey = key == "" && at.Hostname() == "api.anthropic.com"
	m.caller = call.Caller{API: "the Anthropic API", Limits: opts.Limits, Secrets: call.Secrets(key, opts.Headers)}
	transport := &call.Transport{Limits: opts.Limits, Parse: parse}
	// Only the service, because a client of the SDK reads the environment of the
	// process; without retries, because the caller has its own.
	options := []option.RequestOption{
		option.WithBaseURL(strings.TrimRight(base, "/") + "/"), option.WithHTTPClient(transport.Client(opts.HTTPClient)), option.WithMaxRetries(0),
	}
	if key != "" {
		options = append(options, option.WithAPIKey(key))
	}
	for name, value := range opts.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	m.messages = sdk.NewMessageService(options...)
	return m, nil
}

// longest returns the maximum output tokens of a model, or a large number.
func longest(name string) int64 {
	switch {
	case strings.HasPrefix(name, "claude-3-5-"):
		return 8192
	case strings.HasPrefix(name, "claude-3-7-"):
		return 32000
	case strings.HasPrefix(name, "claude-3-"):
		return 4096
	}
	return 32000
}

// Name identifies the model.
func (m *Model) Name() string { return m.name }

// match reports whether name is the name of a Claude model.
func match(name string) bool { return strings.HasPrefix(name, "claude-") }
