package parley_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/modelserver"
	"github.com/parley-run/parley/model"
)

// searchInTypeScript is an agent with these tools.
func searchInTypeScript(t *testing.T, name, tools string) parley.Config {
	t.Helper()
	dir := t.TempDir()
	code := fmt.Sprintf("import * as adk from '@google/adk';\nimport * as ts from 'adk-typescript';\nconst lookUp = new adk.FunctionTool({ name: 'look_up', description: 'd', execute: () => 1 });\nexport const rootAgent = new adk.LlmAgent({ name: 'a', model: %q, tools: [%s] });", name, tools)
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}}
}

func searchInGo(t *testing.T, name string, tools ...string) parley.Config {
	t.Helper()
	cfg := agent.LLMConfig{Name: "a", Model: model.Named(name), Config: &model.Config{}}
	for _, one := range tools {
		cfg.Config.ProviderTools = append(cfg.Config.ProviderTools, json.RawMessage(one))
	}
	root, err := agent.NewLLM(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return parley.Config{Agents: map[string]*agent.Agent{"app": root}}
}

// askOnce are the events of one turn, and the error that it ends with.
func askOnce(t *testing.T, cfg parley.Config) (out []string) {
	t.Helper()
	cfg.Log = slog.New(slog.DiscardHandler)
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	for ev, err := range srv.Stream(t.Context(), parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "Well?")}) {
		if err != nil {
			return append(out, err.Error())
		}
		out = append(out, ev.ErrorCode+" "+ev.ErrorMessage)
	}
	return out
}

// TestProviderTools looks at the tools that Gemini gets to see, and at what it
// says it has found.
func TestProviderTools(t *testing.T) {
	const search = `[{"googleSearch":{}}]`
	const found = `{"webSearchQueries":["weather"]}`
	build := func(tools string) parley.Config { return searchInTypeScript(t, "gemini-2.5-flash", tools) }
	for name, c := range map[string]struct {
		agents parley.Config
		want   string
	}{
		"Go":                    {searchInGo(t, "gemini-2.5-flash", `{"googleSearch":{}}`, `{"urlContext":{}}`), `[{"googleSearch":{}},{"urlContext":{}}]`},
		"BuiltInCodeExecutor":   {build("], codeExecutor: new adk.BuiltInCodeExecutor(), subAgents: ["), `[{"codeExecution":{}}]`},
		"and a search":          {build("adk.GOOGLE_SEARCH], codeExecutor: new adk.BuiltInCodeExecutor(), subAgents: ["), `[{"googleSearch":{}},{"codeExecution":{}}]`},
		"codeExecution":         {build("], beforeModelCallback: ({ request }) => { request.config.tools = [{ codeExecution: {} }]; }, subAgents: ["), `[{"codeExecution":{}}]`},
		"GOOGLE_SEARCH":         {build("adk.GOOGLE_SEARCH"), search},
		"GoogleSearchTool":      {build("new adk.GoogleSearchTool()"), search},
		"googleSearch":          {build("ts.googleSearch"), search},
		"URL_CONTEXT":           {build("adk.URL_CONTEXT"), `[{"urlContext":{}}]`},
		"GOOGLE_MAPS_GROUNDING": {build("adk.GOOGLE_MAPS_GROUNDING, adk.GOOGLE_SEARCH"), `[{"googleMaps":{}},{"googleSearch":{}}]`},
		"with a function":       {build("adk.GOOGLE_SEARCH, lookUp"), `[{"functionDeclarations":[{"description":"d","name":"look_up","parametersJsonSchema":{"properties":{},"type":"object"}}]},{"googleSearch":{}}]`},
		"with a callback":       {build("adk.GOOGLE_SEARCH], beforeModelCallback: [({ request }) => { request.config.temperature = 0; }"), search},
		"by a custom tool": {
			build("new (class extends adk.BaseTool { async processLlmRequest({ llmRequest }) { llmRequest.config.tools = [{ googleSearch: {} }]; } })({ name: 'mine', description: '' })"), search,
		},
		"by a custom class": {
			build("new (class extends adk.GoogleSearchTool { async processLlmRequest(given) { await super.processLlmRequest(given); given.llmRequest.config.tools.push({ urlContext: {} }); } })()"),
			`[{"googleSearch":{}},{"urlContext":{}}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := &modelserver.Server{Dialect: modelserver.Gemini{}, Replies: []modelserver.Reply{{Text: []string{"Sunny."}, Grounding: found}}}
			models := httptest.NewServer(api)
			defer models.Close()
			t.Setenv("GEMINI_API_KEY", "k")
			t.Setenv("GOOGLE_GEMINI_BASE_URL", models.URL)
			events := talk(t, c.agents, "/run")
			if last := events[len(events)-1]; !strings.Contains(last, "Sunny.") || !strings.Contains(last, `"groundingMetadata":`+found) {
				t.Errorf("the answer is %s", last)
			}
			var sent struct{ Tools any }
			for _, asked := range api.Asked() {
				if err := json.Unmarshal(asked.Body, &sent); err != nil {
					t.Fatal(err)
				}
			}
			if got, _ := json.Marshal(sent.Tools); string(got) != c.want {
				t.Errorf("sent %s, want %s", got, c.want)
			}
		})
	}
}

// The tools of Vertex AI are named as its API does.
func TestProviderToolsOfVertex(t *testing.T) {
	for tools, want := range map[string]string{
		"adk.ENTERPRISE_WEB_SEARCH": `[{"enterpriseWebSearch":{}}]`,
		"ts.enterpriseWebSearch":    `[{"enterpriseWebSearch":{}}]`,
		"new adk.VertexAiSearchTool({ dataStoreId: 'projects/p/x', maxResults: 3 })": `[{"retrieval":{"vertexAiSearch":{"datastore":"projects/p/x","maxResults":3}}}]`,
		"new ts.VertexAISearchTool({ searchEngineId: 'projects/p/e', filter: 'f' })": `[{"retrieval":{"vertexAiSearch":{"engine":"projects/p/e","filter":"f"}}}]`,
	} {
		t.Run(tools, func(t *testing.T) {
			api := &modelserver.Server{Dialect: modelserver.Gemini{}, Replies: []modelserver.Reply{{Text: []string{"Sunny."}}}}
			models := httptest.NewServer(api)
			defer models.Close()
			t.Setenv("GOOGLE_API_KEY", "k")
			t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
			t.Setenv("GOOGLE_VERTEX_BASE_URL", models.URL)
			talk(t, searchInTypeScript(t, "gemini-2.5-flash", tools), "/run")
			var sent struct{ Tools any }
			if err := json.Unmarshal(api.Asked()[0].Body, &sent); err != nil {
				t.Fatal(err)
			}
			if got, _ := json.Marshal(sent.Tools); string(got) != want {
				t.Errorf("sent %s, want %s", got, want)
			}
		})
	}
}

// Other models say that they do not have them. Without a model, they are left
// out, and the log says so.
func TestProviderToolsElsewhere(t *testing.T) {
	const want = `"errorCode":"INVALID_ARGUMENT","errorMessage":"%s is a tool that only Gemini has: use a Gemini model, or a tool of your own"`
	for _, s := range switches[1:] {
		for language, cfg := range map[string]parley.Config{
			"Go": searchInGo(t, s.name, `{"googleSearch":{}}`), "TypeScript": searchInTypeScript(t, s.name, "adk.GOOGLE_SEARCH"),
			"code": searchInTypeScript(t, s.name, "], codeExecutor: new adk.BuiltInCodeExecutor(), subAgents: ["),
		} {
			t.Run(language+"/"+s.name, func(t *testing.T) {
				api := &modelserver.Server{Dialect: s.dialect, Replies: conversation}
				models := httptest.NewServer(api)
				defer models.Close()
				for key, value := range s.env(models.URL) {
					t.Setenv(key, value)
				}
				want := fmt.Sprintf(want, map[bool]string{true: "codeExecution", false: "googleSearch"}[language == "code"])
				if events := strings.Join(talk(t, cfg, "/run_sse"), "\n"); !strings.Contains(events, want) {
					t.Errorf("no %q in %s", want, events)
				}
				if asked := api.Asked(); len(asked) > 0 {
					t.Errorf("asked %+v", asked)
				}
			})
		}
	}
	t.Run("not Vertex", func(t *testing.T) {
		t.Setenv("GEMINI_API_KEY", "k")
		for name, want := range map[string]string{
			`{"enterpriseWebSearch":{}}`: "enterpriseWebSearch is a tool that only Vertex AI has",
			`{"retrieval":{}}`:           "retrieval is a tool that only Vertex AI has",
			`{"googleSearch":7}`:         "the tool googleSearch is not in the form of the Gemini API",
		} {
			events := strings.Join(askOnce(t, searchInGo(t, "gemini-2.5-flash", name)), "\n")
			if !strings.Contains(events, want) {
				t.Errorf("no %q in %s", want, events)
			}
		}
	})
	for language, cfg := range map[string]parley.Config{
		"Go": searchInGo(t, "gemini-2.5-flash", `{"googleSearch":{}}`), "TypeScript": searchInTypeScript(t, "gemini-2.5-flash", "adk.GOOGLE_SEARCH"),
	} {
		t.Run(language+"/offline", func(t *testing.T) {
			var log bytes.Buffer
			cfg.Offline, cfg.Log = true, slog.New(slog.NewTextHandler(&log, nil))
			srv, err := parley.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			srv.Close(t.Context())
			if n := strings.Count(log.String(), "googleSearch"); n != 1 {
				t.Errorf("%d lines about it in the log:\n%s", n, &log)
			}
		})
	}
}
