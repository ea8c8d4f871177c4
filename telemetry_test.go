package parley_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/collector"
	"github.com/parley-run/parley/internal/testkit/modelserver"
	"github.com/parley-run/parley/model/openai"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
	"github.com/parley-run/parley/tool/openapi"
)

const (
	callersTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersParent = "00-" + callersTrace + "-00f067aa0ba902b7-01"
)

// heard are the traces that a server was called in.
type heard struct {
	http.Handler
	mu     sync.Mutex
	traces []string
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.traces = append(h.traces, r.Header.Get("Traceparent"))
	h.mu.Unlock()
	h.Handler.ServeHTTP(w, r)
}

// span is the span that a call was made in, if it was part of the caller's trace.
func (h *heard) span(t *testing.T, i int) string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.traces) <= i {
		t.Fatalf("there were %d calls", len(h.traces))
	}
	parts := strings.Split(h.traces[i], "-")
	if len(parts) != 4 || parts[1] != callersTrace {
		t.Fatalf("call %d is in the trace %q", i, h.traces[i])
	}
	return parts[2]
}

const forecast = `{"openapi":"3.0.0","info":{"title":"x","version":"1"},"paths":{"/forecast":{"get":{"operationId":"forecast","description":"Tells the weather.",
	"parameters":[{"name":"city","in":"query","schema":{"type":"string"}}],"responses":{"200":{"description":"x"}}}}}}`

// travels is a server with an agent that asks a model and calls an API, both over
// HTTP.
func travels(t *testing.T, cfg parley.Config) (srv *parley.Server, model, api *heard) {
	t.Helper()
	model = &heard{Handler: &modelserver.Server{Dialect: modelserver.OpenAI{}, Replies: []modelserver.Reply{
		{Calls: []modelserver.Call{{ID: "c1", Name: "forecast", Args: `{"city":"Lisbon"}`}}, Usage: modelserver.Usage{Prompt: 20, Cached: 5, Answer: 4}},
		{Text: []string{"Sunny", " in Lisbon."}, Usage: modelserver.Usage{Prompt: 30, Thoughts: 2, Answer: 5}},
	}}}
	atModel := httptest.NewServer(model)
	t.Cleanup(atModel.Close)
	api = &heard{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"sky":"blue"}`)
	})}
	atAPI := httptest.NewServer(api)
	t.Cleanup(atAPI.Close)
	m, err := openai.New("gpt-x", &openai.Options{APIKey: "key", BaseURL: atModel.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	set, err := openapi.New(t.Context(), openapi.Config{Spec: []byte(forecast), BaseURL: atAPI.URL})
	if err != nil {
		t.Fatal(err)
	}
	root, err := agent.NewLLM(agent.LLMConfig{Name: "traveller", Description: "Travels.", Instruction: "Be brief.", Model: m, Toolsets: []tool.Toolset{set}})
	if err != nil {
		t.Fatal(err)
	}
	if root, err = agent.WithPlugins(root, agent.GlobalInstruction("Be kind.")); err != nil {
		t.Fatal(err)
	}
	cfg.Agents = map[string]*agent.Agent{"app": root}
	if srv, err = parley.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(t.Context()) })
	return srv, model, api
}

const message = `{"appName":"app","userId":"u","sessionId":"s","streaming":true,"newMessage":{"parts":[{"text":"How is Lisbon?"}]}}`

// caller sends requests as part of a trace.
func caller(t *testing.T, srv *parley.Server) func(method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	handler := srv.Handler()
	return func(method, path, body string) *httptest.ResponseRecorder {
		t.Helper()
		rec := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		req.Header.Set("Traceparent", callersParent)
		handler.ServeHTTP(rec, req)
		resp := rec.Result()
		resp.Request = req
		testkit.CheckExchange(t, resp, rec.Body.Bytes())
		return rec
	}
}

// One trace leads from the client over the server to the model and the API.
func TestTrace(t *testing.T) {
	t.Parallel()
	for _, content := range []bool{false, true} {
		t.Run(fmt.Sprintf("content=%t", content), func(t *testing.T) {
			t.Parallel()
			backend := collector.Start(t)
			srv, model, api := travels(t, parley.Config{Telemetry: parley.TelemetryConfig{Content: content}}.ExportTo(backend.URL))
			do := caller(t, srv)
			do("POST", "/apps/app/users/u/sessions/s", "")
			if rec := do("POST", "/run_sse?secret=1", message); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), "Sunny in Lisbon.") {
				t.Fatalf("%d %s", rec.Code, rec.Body)
			}
			srv.Close(t.Context())

			request := backend.Named(t, "POST /run_sse")
			invocation := backend.Named(t, "invocation")
			invoked := backend.Named(t, "invoke_agent traveller")
			called := backend.Named(t, "execute_tool forecast")
			var asked []*collector.Span
			for _, s := range backend.Spans() {
				if s.TraceID != callersTrace || s.Failed || s.Service != "parley" {
					t.Errorf("%s: %+v", s.Name, s)
				}
				if s.Name == "generate_content gpt-x" {
					asked = append(asked, s)
				}
			}
			if len(asked) != 2 {
				t.Fatalf("%d model calls", len(asked))
			}
			if request.Parent != "00f067aa0ba902b7" || invocation.Parent != request.ID || invoked.Parent != invocation.ID ||
				called.Parent != invoked.ID || asked[0].Parent != invoked.ID || asked[1].Parent != invoked.ID {
				t.Error("the spans are not below each other")
			}
			if model.span(t, 0) != asked[0].ID || model.span(t, 1) != asked[1].ID || api.span(t, 0) != called.ID {
				t.Error("those who were called do not hear from where")
			}
			if request.Kind != "SPAN_KIND_SERVER" || asked[0].Kind != "SPAN_KIND_CLIENT" {
				t.Errorf("kinds: %s, %s", request.Kind, asked[0].Kind)
			}
			id, _ := invocation.Attributes["gcp.vertex.agent.invocation_id"].(string)
			event, _ := asked[0].Attributes["gcp.vertex.agent.event_id"].(string)
			result, _ := called.Attributes["gcp.vertex.agent.event_id"].(string)
			session := do("GET", "/apps/app/users/u/sessions/s", "").Body.String()
			for _, one := range []string{id, event, result} {
				if one == "" || !strings.Contains(session, `"`+one+`"`) {
					t.Errorf("the log does not know %q", one)
				}
			}
			wantAttributes(t, request, map[string]any{"http.route": "/run_sse", "http.response.status_code": int64(200), "http.request.method": "POST", "url.path": "/run_sse"})
			wantAttributes(t, invocation, map[string]any{"gen_ai.conversation.id": "s", "parley.run.status": "completed", "parley.app": "app"})
			wantAttributes(t, invoked, map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "traveller", "gen_ai.agent.description": "Travels.", "gen_ai.conversation.id": "s"})
			wantAttributes(t, asked[0], map[string]any{
				"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gpt-x", "gen_ai.provider.name": "openai", "gen_ai.agent.name": "traveller",
				"gen_ai.usage.input_tokens": int64(20), "gen_ai.usage.output_tokens": int64(4), "gen_ai.usage.cache_read.input_tokens": int64(5),
				"gcp.vertex.agent.invocation_id": id, "gcp.vertex.agent.session_id": "s",
			})
			if got := fmt.Sprint(asked[1].Attributes["gen_ai.response.finish_reasons"]); got != "[stop]" {
				t.Errorf("finish reasons: %s", got)
			}
			wantAttributes(t, called, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "forecast", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": "c1"})
			all := string(backend.All())
			for _, said := range []string{"How is Lisbon", "Be brief", "sky", "Sunny"} {
				if strings.Contains(all, said) != content {
					t.Errorf("%q is in what is exported: %t", said, !content)
				}
			}
			if strings.Contains(all, "secret=1") {
				t.Error("the query is in what is exported")
			}
		})
	}
}

func wantAttributes(t *testing.T, s *collector.Span, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if s.Attributes[name] != value {
			t.Errorf("%s: %s is %v, want %v", s.Name, name, s.Attributes[name], value)
		}
	}
}

// strictSpans checks the answer about a session as ADK's developer UI does: it
// shows nothing at all when one of the spans is not as it wants it.
func strictSpans(t *testing.T, doc []byte) []map[string]any {
	t.Helper()
	var spans []map[string]any
	if err := json.Unmarshal(doc, &spans); err != nil || spans == nil {
		t.Fatalf("not a list: %s", doc)
	}
	for _, s := range spans {
		name, ok := s["name"].(string)
		if !ok {
			t.Errorf("a span has no name: %v", s)
		}
		for _, key := range []string{"start_time", "end_time"} {
			if at, ok := s[key].(float64); !ok || at < 1.7e18 {
				t.Errorf("%s: %s is %v", name, key, s[key])
			}
		}
		for _, key := range []string{"trace_id", "span_id"} {
			if id, ok := s[key].(string); !ok || id == "" {
				t.Errorf("%s: %s is %v", name, key, s[key])
			}
		}
		if parent, ok := s["parent_span_id"]; !ok || parent != nil && parent.(string) == "" {
			t.Errorf("%s: the parent is %v", name, parent)
		}
		if logs, ok := s["logs"]; ok && logs == nil {
			t.Errorf("%s: logs is null", name)
		}
		attributes, ok := s["attributes"].(map[string]any)
		if !ok {
			t.Errorf("%s: the attributes are %v", name, s["attributes"])
		}
		text := func(key string, must bool) {
			v, there := attributes[key]
			if _, ok := v.(string); !ok && (there || must) {
				t.Errorf("%s: %s is %v", name, key, v)
			}
		}
		operation := attributes["gen_ai.operation.name"]
		text("gen_ai.conversation.id", operation == "invoke_agent")
		text("gcp.vertex.agent.event_id", operation == "generate_content")
		text("gcp.vertex.agent.invocation_id", operation == "generate_content")
		for _, key := range []string{"gen_ai.agent.name", "gen_ai.agent.description"} {
			text(key, false)
		}
		for _, key := range []string{"gcp.vertex.agent.associated_event_ids", "gen_ai.response.finish_reasons"} {
			if v, there := attributes[key]; there {
				list, ok := v.([]any)
				if !ok || slices.ContainsFunc(list, func(one any) bool { _, ok := one.(string); return !ok }) {
					t.Errorf("%s: %s is %v", name, key, v)
				}
			}
		}
		for _, key := range []string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"} {
			if v, there := attributes[key]; there {
				if _, ok := v.(float64); !ok {
					t.Errorf("%s: %s is %v", name, key, v)
				}
			}
		}
		for key, v := range attributes {
			if v == nil {
				t.Errorf("%s: %s is null", name, key)
			}
			switch key {
			case "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response", "parley.request_origins":
				if inner, ok := v.(string); !ok || !json.Valid([]byte(inner)) {
					t.Errorf("%s: %s is not JSON in a string: %v", name, key, v)
				}
			}
		}
	}
	return spans
}

// Developers see the whole trace, with what was said and where it comes from.
func TestDeveloperTrace(t *testing.T) {
	t.Parallel()
	srv, _, _ := travels(t, parley.Config{UI: parley.UIConfig{Enabled: true}})
	do := caller(t, srv)
	do("POST", "/apps/app/users/u/sessions/s", "")
	for _, path := range []string{"/dev/apps/app/debug/trace/session/s", "/debug/trace/session/s"} {
		if rec := do("GET", path, ""); rec.Code != http.StatusOK || rec.Body.String() != "[]" {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if rec := do("POST", "/run", message); rec.Code != http.StatusOK {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	rec := do("GET", "/dev/apps/app/debug/trace/session/s", "")
	if other := do("GET", "/debug/trace/session/s", ""); other.Body.String() != rec.Body.String() {
		t.Error("the older path answers something else")
	}
	brief := do("GET", "/dev/apps/app/debug/trace/session/s?content=false", "").Body.String()
	if all := rec.Body.String(); strings.Count(brief, `"span_id"`) != strings.Count(all, `"span_id"`) || !strings.Contains(all, "Lisbon") || strings.Contains(brief, "Lisbon") {
		t.Errorf("without what was said: %s", brief)
	}
	if rec := do("GET", "/debug/trace/session/s?content=some", ""); rec.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	var names []string
	var asked, called map[string]any
	for _, s := range strictSpans(t, rec.Body.Bytes()) {
		name, _ := s["name"].(string)
		names = append(names, name)
		attributes, _ := s["attributes"].(map[string]any)
		if s["trace_id"] != callersTrace || attributes["parley.open"] != nil {
			t.Errorf("%s: %v", name, s)
		}
		switch name {
		case "generate_content gpt-x":
			asked = attributes // the second one
		case "execute_tool forecast":
			called = attributes
		}
	}
	want := []string{"POST /run", "invocation", "invoke_agent traveller", "generate_content gpt-x", "execute_tool forecast", "generate_content gpt-x"}
	if !slices.Equal(names, want) {
		t.Fatalf("the spans are %q, want %q", names, want)
	}
	if called["gcp.vertex.agent.tool_call_args"] != `{"city":"Lisbon"}` || called["gcp.vertex.agent.tool_response"] != `{"sky":"blue"}` {
		t.Errorf("the tool: %v", called)
	}

	event, _ := asked["gcp.vertex.agent.event_id"].(string)
	for _, path := range []string{"/dev/apps/app/debug/trace/", "/debug/trace/"} {
		var flat map[string]any
		if err := json.Unmarshal(do("GET", path+event, "").Body.Bytes(), &flat); err != nil || flat["trace_id"] != callersTrace || flat["span_id"] == nil {
			t.Errorf("%s: %v, %v", path, flat, err)
		}
		delete(flat, "trace_id")
		delete(flat, "span_id")
		if !maps.EqualFunc(flat, asked, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			t.Errorf("%s: %v, want %v", path, flat, asked)
		}
		if rec := do("GET", path+"nothing", ""); rec.Code != http.StatusNotFound || rec.Body.String() != `{"error":"Trace not found","detail":"Trace not found"}` {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	if rec := do("GET", "/dev/apps/other/debug/trace/"+event, ""); rec.Code != http.StatusNotFound {
		t.Errorf("of another application: %d %s", rec.Code, rec.Body)
	}
	if rec := do("GET", "/dev/apps/other/debug/trace/session/s", ""); rec.Body.String() != "[]" {
		t.Errorf("of another application: %d %s", rec.Code, rec.Body)
	}

	var request struct {
		Model    string
		Contents []struct {
			Role  string
			Parts []map[string]any
		}
		Config struct {
			SystemInstruction []string
			Tools             []struct{ FunctionDeclarations []struct{ Name string } }
		}
	}
	text, _ := asked["gcp.vertex.agent.llm_request"].(string)
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		t.Fatal(err)
	}
	if request.Model != "gpt-x" || len(request.Contents) != 3 || strings.Join(request.Config.SystemInstruction, "|") != "Be kind.|Be brief." ||
		len(request.Config.Tools) != 1 || request.Config.Tools[0].FunctionDeclarations[0].Name != "forecast" {
		t.Errorf("the request: %s", text)
	}
	var events []struct{ ID string }
	var session struct{ Events *[]struct{ ID string } }
	session.Events = &events
	if err := json.Unmarshal(do("GET", "/apps/app/users/u/sessions/s", "").Body.Bytes(), &session); err != nil || len(events) != 4 {
		t.Fatalf("%d events: %v", len(events), err)
	}
	wantOrigins := fmt.Sprintf(`[{"path":"config.systemInstruction[0]","origin":"global instruction"},{"path":"config.systemInstruction[1]","origin":"instruction of agent traveller"},`+
		`{"path":"config.tools[0]","origin":"toolset 1 of agent traveller"},`+
		`{"path":"contents[0]","origin":"message of the user","event":%q},{"path":"contents[1]","origin":"said by agent traveller","event":%q},{"path":"contents[2]","origin":"results of tools","event":%q}]`,
		events[0].ID, events[1].ID, events[2].ID)
	if got := asked["parley.request_origins"]; got != wantOrigins {
		t.Errorf("the origins are\n%s, want\n%s", got, wantOrigins)
	}
	if answer, _ := asked["gcp.vertex.agent.llm_response"].(string); !strings.Contains(answer, `"text":"Sunny in Lisbon."`) || !strings.Contains(answer, `"finishReason":"STOP"`) {
		t.Errorf("the answer: %s", answer)
	}
}

// What is in progress is to be seen, too, and a failure as one.
func TestOpenSpans(t *testing.T) {
	t.Parallel()
	started, gate := make(chan struct{}), make(chan struct{})
	slow := tool.Must(tool.New(tool.Declaration{Name: "slow"}, func(*tool.Context, struct{}) (any, error) {
		close(started)
		<-gate
		return nil, fmt.Errorf("it broke")
	}))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "echo", Tools: []tool.Tool{slow}, Model: scripted.New(scripted.Call("slow", nil), scripted.Fail(fmt.Errorf("out of words")))})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, UI: parley.UIConfig{Enabled: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close(t.Context())
	do := caller(t, srv)
	do("POST", "/apps/app/users/u/sessions/s", "")
	answered := make(chan *httptest.ResponseRecorder)
	go func() { answered <- do("POST", "/run", message) }()
	<-started
	states := func() map[string]string {
		found := map[string]string{}
		for _, s := range strictSpans(t, do("GET", "/debug/trace/session/s", "").Body.Bytes()) {
			name, _ := s["name"].(string)
			attributes, _ := s["attributes"].(map[string]any)
			switch {
			case attributes["parley.open"] == true:
				found[name] = "open"
			case attributes["parley.error"] != nil:
				found[name] = fmt.Sprint(attributes["parley.error"])
			default:
				found[name] = "done"
			}
		}
		return found
	}
	want := map[string]string{"POST": "open", "invocation": "open", "invoke_agent echo": "open", "generate_content scripted": "done", "execute_tool slow": "open"}
	if got := states(); !maps.Equal(got, want) {
		t.Errorf("in progress: %v, want %v", got, want)
	}
	close(gate)
	if rec := <-answered; rec.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	const why = "model scripted: out of words"
	want = map[string]string{"POST /run": "Internal Server Error", "invocation": why, "invoke_agent echo": why, "generate_content scripted": "out of words", "execute_tool slow": "it broke"}
	testkit.Eventually(t, "the end of the spans", func() bool { return maps.Equal(states(), want) })
}
