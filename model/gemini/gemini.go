// Package gemini calls Google's Gemini models: through the Gemini API with a
// key, or through Vertex AI with a project and Google Cloud credentials.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"cloud.google.com/go/auth/credentials"
	"google.golang.org/genai"

	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/internal/call"
)

// Options are the URL of the model and the credentials for it. Fields that are not
// set are read with Getenv, if that is set: os.Getenv reads the environment of the
// process.
type Options struct {
	// APIKey, or GOOGLE_GENAI_API_KEY, GOOGLE_API_KEY, GEMINI_API_KEY.
	APIKey string
	// VertexAI selects Vertex AI instead of the Gemini API, like
	// GOOGLE_GENAI_USE_ENTERPRISE and GOOGLE_GENAI_USE_VERTEXAI if they are true or
	// 1, and a model name that starts with projects/.
	VertexAI bool
	// Project, or GOOGLE_CLOUD_PROJECT. For Vertex AI.
	Project string
	// Location, or GOOGLE_CLOUD_LOCATION, or global. For Vertex AI.
	Location string
	// BaseURL, or GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL.
	BaseURL string
	// Headers are sent with every request.
	Headers map[string]string
	// HTTPClient makes the requests. With Vertex AI and no key, it must add the
	// credentials itself; without an HTTPClient, the application default
	// credentials are used.
	HTTPClient *http.Client
	// Getenv returns an environment variable. nil means that there is no
	// environment.
	Getenv func(string) string
	// Limits are the timeouts, retries and size limits.
	Limits model.Limits
}

// Model is one Gemini model.
type Model struct {
	name            string
	config          genai.ClientConfig
	credentialsFile string
	caller          call.Caller

	mu     sync.Mutex
	client *genai.Client // nil until the first request
}

// New returns the model with a name such as gemini-2.5-flash. It needs no key: a
// model without one returns an error when it is called.
func New(name string, opts *Options) (*Model, error) {
	if name == "" || strings.ContainsAny(name, "?&#% ") || strings.Contains(name, "..") {
		return nil, fmt.Errorf("new Gemini model: %q is not the name of a model", name)
	}
	if opts == nil {
		opts = &Options{}
	}
	env := opts.Getenv
	if env == nil {
		env = func(string) string { return "" }
	}
	m := &Model{name: name, config: configure(name, opts, env), credentialsFile: env("GOOGLE_APPLICATION_CREDENTIALS")}
	m.caller = call.Caller{API: "the Gemini API", Limits: opts.Limits, Secrets: call.Secrets(m.config.APIKey, opts.Headers)}
	return m, nil
}

// Name identifies the model.
func (m *Model) Name() string { return m.name }

// match reports whether New accepts the name.
func match(name string) bool {
	if strings.HasPrefix(name, "projects/") {
		return strings.Contains(name, "/publishers/google/models/")
	}
	name = strings.TrimPrefix(name, "models/")
	return strings.HasPrefix(name, "gemini-") || strings.HasPrefix(name, "gemma")
}

func (m *Model) vertex() bool { return m.config.Backend == genai.BackendVertexAI }

// connect creates the client on the first request, because looking for credentials
// may take a while. It does not cache a failure, because credentials may appear
// later.
func (m *Model) connect(ctx context.Context) (*genai.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		return m.client, nil
	}
	if err := m.Ready(); err != nil {
		return nil, err
	}
	cc := m.config // the SDK changes its argument
	if cc.APIKey == "" && cc.HTTPClient == nil {
		var err error
		// Not left to the SDK, which sees only the environment of the process.
		if cc.Credentials, err = credentials.DetectDefault(&credentials.DetectOptions{
			Scopes:          []string{"https://www.googleapis.com/auth/cloud-platform"},
			CredentialsFile: m.credentialsFile, //nolint:staticcheck // deprecated for files from untrusted sources; this one is the operator's
		}); err != nil {
			return nil, &call.RefusalError{Code: "MISSING_CREDENTIALS", Message: "No usable Google Cloud credentials were found for the model " + m.name +
				". Run gcloud auth application-default login, or let GOOGLE_APPLICATION_CREDENTIALS name a credentials file. --offline runs without any."}
		}
	}
	client, err := genai.NewClient(ctx, &cc)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// The SDK includes its configuration, with the key, in its errors.
		return nil, errors.New("the Gemini client cannot be made from these options")
	}
	hc := client.ClientConfig().HTTPClient // created by the SDK, or a copy
	*hc = *(&call.Transport{Limits: m.caller.Limits, Parse: parse}).Client(hc)
	m.client = client
	return client, nil
}

// Ready returns an error if it is known before a call that the model cannot be called,
// because it has no key.
func (m *Model) Ready() error {
	if m.config.APIKey == "" && m.config.Project == "" {
		return m.missingKey()
	}
	return nil
}

func (m *Model) missingKey() error {
	what := "an API key: set GOOGLE_GENAI_API_KEY, GOOGLE_API_KEY or GEMINI_API_KEY"
	if m.vertex() {
		what = "a project or an API key: set GOOGLE_CLOUD_PROJECT, or GOOGLE_GENAI_API_KEY, GOOGLE_API_KEY or GEMINI_API_KEY"
	}
	return &call.RefusalError{Code: "MISSING_API_KEY", Message: "The model " + m.name + " needs " + what + ". --offline runs without any key."}
}
