package gemini

import (
	"cmp"
	"net/http"
	"strings"

	"google.golang.org/genai"
)

// configure sets every value that the SDK would otherwise read from the environment
// of the process.
func configure(name string, o *Options, env func(string) string) genai.ClientConfig {
	key := cmp.Or(env("GOOGLE_GENAI_API_KEY"), env("GOOGLE_API_KEY"), env("GEMINI_API_KEY"))
	cc := genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: cmp.Or(o.APIKey, key)}
	if len(o.Headers) > 0 {
		cc.HTTPOptions.Headers = http.Header{}
		for name, value := range o.Headers {
			cc.HTTPOptions.Headers.Set(name, value)
		}
	}
	if o.HTTPClient != nil {
		client := *o.HTTPClient // the default client gets another transport
		cc.HTTPClient = &client
	}
	if !o.VertexAI && !strings.HasPrefix(name, "projects/") && !yes(cmp.Or(env("GOOGLE_GENAI_USE_ENTERPRISE"), env("GOOGLE_GENAI_USE_VERTEXAI"))) {
		cc.HTTPOptions.BaseURL = cmp.Or(o.BaseURL, env("GOOGLE_GEMINI_BASE_URL"), "https://generativelanguage.googleapis.com/")
		return cc
	}

	cc.Backend = genai.BackendVertexAI
	named := strings.Split(name+"///", "/") // projects/P/locations/L/…
	if named[0] != "projects" || named[2] != "locations" {
		named = make([]string, 4)
	}
	cc.Project = cmp.Or(o.Project, named[1])
	if o.APIKey == "" {
		cc.Project = cmp.Or(cc.Project, env("GOOGLE_CLOUD_PROJECT"))
	}
	// As in Google's SDKs: a project takes precedence over a key, and options over
	// the environment.
	if cc.Project != "" {
		cc.APIKey = o.APIKey
		cc.Location = cmp.Or(o.Location, named[3], env("GOOGLE_CLOUD_LOCATION"), "global")
	}
	cc.HTTPOptions.BaseURL = cmp.Or(o.BaseURL, env("GOOGLE_VERTEX_BASE_URL"), vertexURL(cc.Location, cc.APIKey))
	return cc
}

func vertexURL(location, key string) string {
	switch {
	case location == "" || location == "global" || key != "":
		return "https://aiplatform.googleapis.com/"
	case location == "us" || location == "eu":
		return "https://aiplatform." + location + ".rep.googleapis.com/"
	}
	return "https://" + location + "-aiplatform.googleapis.com/"
}

func yes(value string) bool { return value == "1" || strings.EqualFold(value, "true") }
