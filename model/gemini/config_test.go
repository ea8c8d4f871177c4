package gemini_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/model/gemini"
)

// wire answers ok to every request, and keeps it.
type wire struct{ saw *http.Request }

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.saw = req
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(ok)), Request: req}, nil
}

func TestConfiguration(t *testing.T) {
	// The process's environment is not the one that was given.
	for _, name := range []string{
		"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION",
		"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
	} {
		t.Setenv(name, "http://process.invalid/")
	}
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	const (
		public = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent"
		vertex = "https://aiplatform.googleapis.com/v1beta1/"
		google = "publishers/google/models/gemini-x:generateContent"
	)
	tests := []struct {
		name     string
		model    string
		opts     gemini.Options
		env      string // NAME=value NAME=value
		url, key string
	}{
		{"key", "", gemini.Options{APIKey: "k"}, "GOOGLE_API_KEY=other", public, "k"},
		{"first key", "", gemini.Options{}, "GOOGLE_GENAI_API_KEY=a GOOGLE_API_KEY=b GEMINI_API_KEY=c", public, "a"},
		{"second key", "", gemini.Options{}, "GOOGLE_API_KEY=b GEMINI_API_KEY=c", public, "b"},
		{"third key", "", gemini.Options{}, "GEMINI_API_KEY=c GOOGLE_CLOUD_PROJECT=p", public, "c"},
		{"prefix", "models/gemini-x", gemini.Options{APIKey: "k"}, "", public, "k"},
		{"base", "", gemini.Options{APIKey: "k"}, "GOOGLE_GEMINI_BASE_URL=http://b/c", "http://b/c/v1beta/models/gemini-x:generateContent", "k"},
		{"base in code", "", gemini.Options{APIKey: "k", BaseURL: "http://d"}, "GOOGLE_GEMINI_BASE_URL=http://b", "http://d/v1beta/models/gemini-x:generateContent", "k"},
		{"not Vertex AI", "", gemini.Options{APIKey: "k"}, "GOOGLE_GENAI_USE_ENTERPRISE=false GOOGLE_GENAI_USE_VERTEXAI=true", public, "k"},
		{"project", "", gemini.Options{VertexAI: true, Project: "p"}, "GEMINI_API_KEY=c", vertex + "projects/p/locations/global/" + google, ""},
		{
			"all by environment", "",
			gemini.Options{},
			"GOOGLE_GENAI_USE_VERTEXAI=True GOOGLE_CLOUD_PROJECT=p GOOGLE_CLOUD_LOCATION=europe-west6 GOOGLE_API_KEY=b",
			"https://europe-west6-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west6/" + google, "",
		},
		{"more than a region", "", gemini.Options{Location: "eu"}, "GOOGLE_GENAI_USE_ENTERPRISE=1 GOOGLE_CLOUD_PROJECT=p", "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/" + google, ""},
		{"key for Vertex AI", "", gemini.Options{VertexAI: true, APIKey: "k"}, "GOOGLE_CLOUD_PROJECT=p", vertex + google, "k"},
		{"only a key for Vertex AI", "", gemini.Options{VertexAI: true}, "GEMINI_API_KEY=c GOOGLE_CLOUD_LOCATION=l", vertex + google, "c"},
		{"key and project", "", gemini.Options{VertexAI: true, APIKey: "k", Project: "p"}, "", vertex + "projects/p/locations/global/" + google, "k"},
		{"base of Vertex AI", "", gemini.Options{VertexAI: true, Project: "p", Location: "l"}, "GOOGLE_VERTEX_BASE_URL=http://b", "http://b/v1beta1/projects/p/locations/l/" + google, ""},
		{
			"full name", "projects/q/locations/us-east1/publishers/google/models/gemini-x",
			gemini.Options{},
			"GEMINI_API_KEY=c",
			"https://us-east1-aiplatform.googleapis.com/v1beta1/projects/q/locations/us-east1/" + google, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &wire{}
			env := map[string]string{}
			for pair := range strings.FieldsSeq(tt.env) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
			}
			tt.opts.HTTPClient, tt.opts.Getenv = &http.Client{Transport: w}, func(name string) string { return env[name] }
			name := tt.model
			if name == "" {
				name = "gemini-x"
			}
			if _, got, err := generate(t, newModel(t, name, &tt.opts), ask(false, "Hello")); err != nil || got.ErrorCode != "" {
				t.Fatalf("got %+v, %v", got, err)
			}
			equal(t, "URL", tt.url, w.saw.URL.String())
			equal(t, "key", tt.key, w.saw.Header.Get("X-Goog-Api-Key"))
			if tt.opts.HTTPClient.Transport != w {
				t.Error("the caller's client was changed")
			}
		})
	}
}

// TestServiceAccount goes all the way that credentials go: from a file that
// only the given environment names, by a token, to the API.
func TestServiceAccount(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	tokens := httptest.NewServer(reply(200, `{"access_token":"token-1","token_type":"Bearer","expires_in":3600}`, "Content-Type", "application/json"))
	defer tokens.Close()
	doc, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "client_email": "a@p.invalid", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	a := serve(t, reply(503, ""), reply(200, ok))
	env := map[string]string{
		"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_VERTEX_BASE_URL": a.URL, "GOOGLE_APPLICATION_CREDENTIALS": file,
	}
	m := newModel(t, "gemini-x", &gemini.Options{Getenv: func(name string) string { return env[name] }})
	m.SetWait(func(context.Context, time.Duration) error { return nil })
	if _, got, err := generate(t, m, ask(false, "Hello")); err != nil || got.Content.Text() != "ok" {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, saw := range a.requests() {
		equal(t, "path", "/v1beta1/projects/p/locations/global/publishers/google/models/gemini-x:generateContent", saw.path)
		equal(t, "authorization", "Bearer token-1", saw.header.Get("Authorization"))
	}
}

// TestOneClient has many first requests at once.
func TestOneClient(t *testing.T) {
	a := serve(t, sse(1, "\n\n", ok))
	m := newModel(t, "gemini-x", &gemini.Options{APIKey: key, BaseURL: a.URL})
	equal(t, "name", "gemini-x", m.Name())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, got, err := generate(t, m, ask(true, "Hello")); err != nil || got.Content.Text() != "ok" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	wg.Wait()
}

func TestMatch(t *testing.T) {
	for name, want := range map[string]bool{
		"gemini-2.5-flash": true, "models/gemini-3-pro": true, "gemma-3-27b-it": true, "models/gemma-3n": true,
		"projects/p/locations/l/publishers/google/models/gemini-x": true,
		"projects/p/locations/l/publishers/other/models/x":         false,
		"gpt-5": false, "claude-gemini-1": false, "gemini": false, "models/other": false, "": false,
	} {
		if got := gemini.Match(name); got != want {
			t.Errorf("Match(%q) = %t", name, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, name := range []string{"", "gemini-x?key=1", "models/../x", "gemini x"} {
		if m, err := gemini.New(name, nil); err == nil {
			t.Errorf("New(%q) gave %v", name, m.Name())
		}
	}
}
