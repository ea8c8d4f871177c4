package parley_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/modelserver"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// switches are the names of one model for each provider, and the variables that
// lead to a server.
var switches = []struct {
	dialect modelserver.Dialect
	name    string
	env     func(url string) map[string]string
}{
	{modelserver.Gemini{}, "gemini-2.5-flash", func(url string) map[string]string {
		return map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": url}
	}},
	{modelserver.OpenAI{}, "gpt-5", func(url string) map[string]string {
		return map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url + "/v1"}
	}},
	{modelserver.OpenAI{}, "openai/some/model", func(url string) map[string]string {
		return map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url + "/v1"}
	}},
	{modelserver.OpenAI{}, "ollama/llama3.2", func(url string) map[string]string {
		return map[string]string{"OLLAMA_HOST": url, "OLLAMA_API_KEY": "k"}
	}},
	{modelserver.Anthropic{}, "claude-sonnet-4-5", func(url string) map[string]string {
		return map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}
	}},
	{modelserver.Anthropic{}, "anthropic/claude-x", func(url string) map[string]string {
		return map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url}
	}},
}

var conversation = []modelserver.Reply{
	{Thought: "I should look.", Calls: []modelserver.Call{{ID: "c1", Name: "get_weather", Args: `{"city":"Oslo"}`}, {ID: "c2", Name: "get_weather", Args: `{"city":"Rome"}`}}},
	{Text: []string{"Sunny ", "in both."}, Usage: modelserver.Usage{Prompt: 50, Cached: 20, Thoughts: 3, Answer: 4}},
}

type place struct {
	City string `json:"city"`
}

// inGo and inTypeScript are the same agent, and differ by the model in one
// string.
func inGo(t *testing.T, name string) parley.Config {
	t.Helper()
	weather, err := tool.New(tool.Declaration{Name: "get_weather", Description: "Tells the weather."}, func(_ *tool.Context, in place) (map[string]string, error) {
		return map[string]string{"report": "Sunny in " + in.City + "."}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "assistant", Model: model.Named(name), Instruction: "Help.", Introduce: true, Tools: []tool.Tool{weather}})
	if err != nil {
		t.Fatal(err)
	}
	return parley.Config{Agents: map[string]*agent.Agent{"app": root}}
}

func inTypeScript(t *testing.T, name string) parley.Config {
	t.Helper()
	dir := t.TempDir()
	code := fmt.Sprintf(`import { FunctionTool, LlmAgent } from '@google/adk';
const weather = new FunctionTool({ name: 'get_weather', description: 'Tells the weather.', parameters: { type: 'OBJECT', properties: { city: { type: 'STRING' } } } as any,
  execute: async ({ city }: any) => ({ report: 'Sunny in ' + city + '.' }) });
export const rootAgent = new LlmAgent({ name: 'assistant', model: %q, instruction: 'Help.', tools: [weather] });`, name)
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return parley.Config{Scripts: parley.ScriptConfig{Dir: dir, AppName: "app"}}
}

// TestModelSwitchIsOneString has the same turn with every provider, through the
// whole server, and wants the same events.
func TestModelSwitchIsOneString(t *testing.T) {
	for language, build := range map[string]func(*testing.T, string) parley.Config{"Go": inGo, "TypeScript": inTypeScript} {
		for _, path := range []string{"/run", "/run_sse"} {
			var first []string
			for _, s := range switches {
				t.Run(language+path+"/"+s.name, func(t *testing.T) {
					if language == "TypeScript" && strings.Contains(s.name, "/") && testing.Short() {
						t.Skip()
					}
					api := &modelserver.Server{Dialect: s.dialect, Replies: conversation}
					models := httptest.NewServer(api)
					defer models.Close()
					for key, value := range s.env(models.URL) {
						t.Setenv(key, value)
					}
					got := talk(t, build(t, s.name), path)
					if first == nil {
						first = got
						if len(got) < 3 || !strings.Contains(strings.Join(got, "\n"), "Sunny in both.") {
							t.Fatalf("the turn was %q", got)
						}
					}
					if diff := cmp.Diff(first, got); diff != "" {
						t.Errorf("not as with %s:\n%s", switches[0].name, diff)
					}
					asked := api.Asked()
					if len(asked) != 2 || asked[0].System != "You are an agent. Your internal name is \"assistant\".\n\nHelp." || !strings.Contains(strings.Join(asked[1].Turns, "\n"), `result c2 {"report":"Sunny in Rome."}`) {
						t.Errorf("asked %+v", asked)
					}
				})
			}
		}
	}
}

// talk has one turn over HTTP, and returns the events without what differs from
// run to run.
func talk(t *testing.T, cfg parley.Config, path string) []string {
	t.Helper()
	cfg.Log = slog.New(slog.DiscardHandler)
	srv, err := parley.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(context.Background())
	web := httptest.NewServer(srv.Handler())
	defer web.Close()
	defer web.Client().CloseIdleConnections()
	post := func(path, body string) string {
		resp, err := web.Client().Post(web.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		doc, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, resp.StatusCode, doc)
		}
		return string(doc)
	}
	post("/apps/app/users/u/sessions/s", "{}")
	doc := post(path, `{"appName":"app","userId":"u","sessionId":"s","streaming":true,"newMessage":{"role":"user","parts":[{"text":"How is Oslo, and Rome?"}]}}`)
	if path == "/run" {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(doc), &list); err != nil {
			t.Fatal(err)
		}
		doc = ""
		for _, one := range list {
			doc += "data: " + string(one) + "\n\n"
		}
	}
	var out []string
	for frame := range strings.SplitSeq(strings.TrimSpace(doc), "\n\n") {
		var ev map[string]any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(frame, "data: ")), &ev); err != nil {
			t.Fatalf("%v in %s", err, frame)
		}
		for _, name := range []string{"id", "invocationId", "timestamp"} {
			delete(ev, name)
		}
		if u, _ := ev["usageMetadata"].(map[string]any); u["promptTokenCount"] == nil {
			delete(ev, "usageMetadata") // of an answer that cost nothing; some say so, some do not
		}
		content, _ := ev["content"].(map[string]any)
		parts, _ := content["parts"].([]any)
		for _, p := range parts {
			delete(p.(map[string]any), "thoughtSignature")
		}
		one, _ := json.Marshal(ev)
		out = append(out, string(one))
	}
	return out
}

func TestModelNames(t *testing.T) {
	for _, name := range []string{
		"gemini-2.5-flash", "gemini/gemini-2.5-flash", "gemma-3-4b-it", "projects/p/locations/l/publishers/google/models/gemini-x", "gpt-5", "o1", "o3-mini",
		"openai/whatever", "ollama/llama3.2", "ollama_chat/llama3.2", "claude-sonnet-4-5", "anthropic/claude-x",
	} {
		m, err := parley.NewModel(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		prefix, rest, _ := strings.Cut(name, "/")
		if want := map[bool]string{true: name, false: rest}[prefix == "projects" || rest == ""]; m.Name() != want {
			t.Errorf("%s is called %s", name, m.Name())
		}
	}
	for _, name := range []string{"", "mystery-1", "mystery/1", "openai/", "projects/p/locations/l/endpoints/1"} {
		_, err := parley.NewModel(name)
		if err == nil {
			t.Errorf("%q was taken", name)
			continue
		}
		for _, part := range []string{"gemini-…", "gpt-…", "openai/…", "ollama/…", "claude-…", "anthropic/…", "--offline"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not name %s", err, part)
			}
		}
	}
}

// TestMissingKeys has the event that says which variable is missing.
func TestMissingKeys(t *testing.T) {
	for name, variable := range map[string]string{"gemini-2.5-flash": "GEMINI_API_KEY", "gpt-5": "OPENAI_API_KEY", "claude-sonnet-4-5": "ANTHROPIC_API_KEY"} {
		for _, key := range []string{"GOOGLE_GENAI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", variable} {
			t.Setenv(key, "")
		}
		got := strings.Join(talk(t, inGo(t, name), "/run"), "\n")
		for _, want := range []string{`"errorCode":"MISSING_API_KEY"`, variable, "--offline"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in %s", name, want, got)
			}
		}
		cfg := inGo(t, name)
		cfg.Offline = true
		if got := strings.Join(talk(t, cfg, "/run"), "\n"); strings.Contains(got, "errorCode") || !strings.Contains(got, "get_weather") {
			t.Errorf("%s, offline: %s", name, got)
		}
	}
}

func TestUnknownModelOfAnAgentInGo(t *testing.T) {
	_, err := parley.Open(t.Context(), inGo(t, "mystery-1"))
	if err == nil || !strings.Contains(err.Error(), `the agent assistant: there is no model "mystery-1"`) {
		t.Errorf("got %v", err)
	}
	cfg := inGo(t, "mystery-1")
	cfg.Models = map[string]model.Model{"mystery-1": scripted.Func(scripted.Say("Solved."))}
	if got := talk(t, cfg, "/run"); len(got) != 1 || !strings.Contains(got[0], "Solved.") {
		t.Errorf("got %q", got)
	}
}

// TestIgnoredSettingsAreLogged has a setting for each provider that it does not
// have, for agents that inherit their model, too.
func TestIgnoredSettingsAreLogged(t *testing.T) {
	settings := &model.Config{Temperature: new(0.5), Seed: new(int64(1)), CachedContent: "c", Extra: map[string]json.RawMessage{"audioTimestamp": json.RawMessage("true")}}
	for name, want := range map[string]string{
		"gemini-x": "settings=[audioTimestamp]", "gpt-x": `settings="[audioTimestamp cachedContent]"`, "claude-x": `settings="[audioTimestamp cachedContent seed]"`,
	} {
		child, err := agent.NewLLM(agent.LLMConfig{Name: "child", Config: settings})
		if err != nil {
			t.Fatal(err)
		}
		root, err := agent.NewLLM(agent.LLMConfig{Name: "root", Model: model.Named(name), SubAgents: []*agent.Agent{child}})
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		srv.Close(context.Background())
		if got := log.String(); !strings.Contains(got, want) || !strings.Contains(got, "agent=child model="+name) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: the log says %s", name, got)
		}
	}
}

// TestSessionChangesItsModel continues with another provider where one has
// stopped: what the first has signed must not reach the second.
func TestSessionChangesItsModel(t *testing.T) {
	for _, order := range [][]int{{0, 4, 1}, {4, 1, 0}, {1, 0, 4}} {
		var models []model.Model
		var apis []*modelserver.Server
		for _, i := range order {
			api := &modelserver.Server{Dialect: switches[i].dialect, Replies: conversation}
			web := httptest.NewServer(api)
			defer web.Close()
			for key, value := range switches[i].env(web.URL) {
				t.Setenv(key, value)
			}
			m, err := parley.NewModel(switches[i].name)
			if err != nil {
				t.Fatal(err)
			}
			models, apis = append(models, m), append(apis, api)
		}
		turn := 0
		routed, err := model.NewRouted(map[string]model.Model{"0": models[0], "1": models[1], "2": models[2]},
			func(context.Context, *model.Request, *model.Failed) (string, error) { return fmt.Sprint(turn), nil })
		if err != nil {
			t.Fatal(err)
		}
		cfg := inGo(t, "any")
		cfg.Models = map[string]model.Model{"any": routed}
		srv, err := parley.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for ; turn < 3; turn++ {
			for ev, err := range srv.Stream(t.Context(), parley.Request{App: "app", User: "u", Session: "s", Message: event.Text(event.RoleUser, "And now?")}) {
				if err != nil || ev.ErrorCode != "" {
					t.Errorf("order %v, turn %d: %v, %+v", order, turn, err, ev)
				}
			}
			if n := len(apis[turn].Asked()); n != 2 {
				t.Errorf("order %v, turn %d: asked %d times", order, turn, n)
			}
		}
		srv.Close(context.Background())
	}
}
