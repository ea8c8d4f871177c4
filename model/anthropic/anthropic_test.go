package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/anthropic"
)

func TestMain(m *testing.M) { leak.Main(m) }

type round struct {
	answer string
	saw    *http.Request
	body   []byte
}

func (r *round) RoundTrip(req *http.Request) (*http.Response, error) {
	r.saw = req
	r.body, _ = io.ReadAll(req.Body)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(r.answer)), Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req}, nil
}

func events(all ...string) string {
	var out strings.Builder
	for _, doc := range all {
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(doc), &kind)
		out.WriteString("event: " + kind.Type + "\ndata: " + doc + "\n\n")
	}
	return out.String()
}

var ok = events(
	`{"type":"message_start","message":{"model":"m-1","usage":{"input_tokens":1,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"ok"}}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`,
	`{"type":"message_stop"}`)

func generate(t *testing.T, m model.Model, req *model.Request) (whole *model.Response, err error) {
	t.Helper()
	for resp, e := range m.Generate(t.Context(), req) {
		if e != nil || !resp.Partial {
			whole, err = resp, e
		}
	}
	return whole, err
}

func ask(contents ...*event.Content) *model.Request {
	req := &model.Request{}
	req.SetContents(append([]*event.Content{event.Text(event.RoleUser, "Hello")}, contents...))
	return req
}

func newModel(t *testing.T, name string, opts anthropic.Options, r *round) *anthropic.Model {
	t.Helper()
	opts.HTTPClient = &http.Client{Transport: r}
	m, err := anthropic.New(name, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestConfiguration(t *testing.T) {
	// The process's environment is not the one that was given.
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"} {
		t.Setenv(name, "http://process.invalid/")
	}
	env := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	for _, tt := range []struct {
		name     string
		opts     anthropic.Options
		url, key string
	}{
		{"by environment", anthropic.Options{Getenv: env(map[string]string{"ANTHROPIC_API_KEY": "k"})}, "https://api.anthropic.com/v1/messages", "k"},
		{"gateway by environment", anthropic.Options{Getenv: env(map[string]string{"ANTHROPIC_BASE_URL": "http://g/x"})}, "http://g/x/v1/messages", ""},
		{"in code", anthropic.Options{APIKey: "mine", BaseURL: "http://h/"}, "http://h/v1/messages", "mine"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &round{answer: ok}
			tt.opts.Headers = map[string]string{"X-Team": "blue"}
			if got, err := generate(t, newModel(t, "claude-x", tt.opts, r), ask()); err != nil || got.Content.Text() != "ok" {
				t.Fatalf("got %+v, %v", got, err)
			}
			got := []string{r.saw.URL.String(), r.saw.Header.Get("X-Api-Key"), r.saw.Header.Get("X-Team"), r.saw.Header.Get("Authorization")}
			if diff := cmp.Diff([]string{tt.url, tt.key, "blue", ""}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, opts := range map[string]*anthropic.Options{"": nil, "m": {BaseURL: "host"}} {
		if _, err := anthropic.New(name, opts); err == nil {
			t.Errorf("%q with %+v was taken", name, opts)
		}
	}
	m, _ := anthropic.New("claude-x", nil)
	got, err := generate(t, m, ask())
	if err != nil || got.ErrorCode != "MISSING_API_KEY" || !strings.Contains(got.ErrorMessage, "ANTHROPIC_API_KEY") || !strings.Contains(got.ErrorMessage, "--offline") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSettings(t *testing.T) {
	type config = model.Config
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"]}`)
	for _, tt := range []struct {
		name, model string
		config      *config
		tools       []model.Declaration
		want        string // beside model and messages
		ignored     string
	}{
		{"none", "claude-x", nil, nil, `{"max_tokens":32000}`, ""},
		{"an old model", "claude-3-haiku-1", nil, nil, `{"max_tokens":4096}`, ""},
		{
			"numbers", "claude-x", &config{Temperature: new(1.5), TopP: new(0.5), TopK: new(4.0), MaxOutputTokens: 9, StopSequences: []string{"END"}, ServiceTier: "AUTO"}, nil,
			`{"max_tokens":9,"temperature":1,"top_p":0.5,"top_k":4,"stop_sequences":["END"],"service_tier":"auto"}`, "",
		},
		{
			"what it does not have", "claude-x",
			&config{
				Seed: new(int64(1)), PresencePenalty: new(1.0), FrequencyPenalty: new(1.0), Logprobs: new(int64(1)), CachedContent: "c", ServiceTier: "flex",
				Labels: map[string]string{"a": "b"}, SafetySettings: make([]model.SafetySetting, 1), ResponseMIMEType: "application/json",
				Extra: map[string]json.RawMessage{"imageConfig": json.RawMessage(`{}`)},
			}, nil,
			`{"max_tokens":32000}`, "cachedContent frequencyPenalty imageConfig labels logprobs presencePenalty responseMimeType safetySettings seed serviceTier",
		},
		{"a budget", "claude-3-7-x", &config{Thinking: &model.Thinking{Budget: new(int64(50000)), IncludeThoughts: true}}, nil, `{"max_tokens":54096,"thinking":{"type":"enabled","budget_tokens":50000,"display":"summarized"}}`, ""},
		{"no thoughts", "claude-x", &config{Thinking: &model.Thinking{Budget: new(int64(0))}}, nil, `{"max_tokens":32000,"thinking":{"type":"disabled"}}`, ""},
		{"a level", "claude-x", &config{Thinking: &model.Thinking{Level: "HIGH"}}, nil, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high"}}`, ""},
		{
			"a schema", "claude-x", &config{ResponseSchema: schema, ResponseMIMEType: "application/json"}, nil,
			`{"max_tokens":32000,"output_config":{"format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false,"required":["a"],
				"properties":{"a":{"type":"string","description":"{minLength: 1}"}}}}}}`, "",
		},
		{
			"one tool", "claude-x", &config{ToolChoice: &model.ToolChoice{Mode: model.ToolsAny, Allowed: []string{"g"}}},
			[]model.Declaration{{Name: "f"}, {Name: "g", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{}},"$defs":{}}`)}},
			`{"max_tokens":32000,"tool_choice":{"type":"tool","name":"g"},"tools":[{"name":"g","description":"d","input_schema":{"type":"object","properties":{"x":{}},"$defs":{}}}]}`, "",
		},
		{
			"no tools", "claude-x", &config{ToolChoice: &model.ToolChoice{Mode: model.ToolsNone}},
			[]model.Declaration{{Name: "f"}},
			`{"max_tokens":32000,"tool_choice":{"type":"none"},"tools":[{"name":"f","input_schema":{"type":"object"}}]}`, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &round{answer: ok}
			m := newModel(t, tt.model, anthropic.Options{APIKey: "k"}, r)
			req := ask()
			req.Config, req.Tools = tt.config, tt.tools
			if _, err := generate(t, m, req); err != nil {
				t.Fatal(err)
			}
			var sent, want map[string]any
			_ = json.Unmarshal(r.body, &sent)
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"model", "messages", "stream"} {
				delete(sent, name)
			}
			if diff := cmp.Diff(want, sent); diff != "" {
				t.Errorf("-want +sent:\n%s", diff)
			}
			if got := strings.Join(model.Ignored(m, tt.config), " "); got != tt.ignored {
				t.Errorf("ignored %s", got)
			}
		})
	}
}

// TestRedactedThoughts go back as they came, beside those that can be read.
func TestRedactedThoughts(t *testing.T) {
	r := &round{answer: events(
		`{"type":"message_start","message":{"model":"m-1","usage":{}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"secret"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"sig"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}`,
		`{"type":"message_stop"}`)}
	m := newModel(t, "claude-x", anthropic.Options{APIKey: "k"}, r)
	got, err := generate(t, m, ask())
	if err != nil {
		t.Fatal(err)
	}
	result := &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: "toolu_1", Name: "f", Response: json.RawMessage(`{}`)}}}}
	if _, err := generate(t, m, ask(got.Content, result)); err != nil {
		t.Fatal(err)
	}
	want := `"content":[{"data":"secret","type":"redacted_thinking"},{"signature":"sig","thinking":"","type":"thinking"},{"id":"toolu_1","input":{},"name":"f","type":"tool_use"}]`
	if !strings.Contains(string(r.body), want) {
		t.Errorf("sent %s", r.body)
	}
}

func TestFiles(t *testing.T) {
	r := &round{answer: ok}
	m := newModel(t, "claude-x", anthropic.Options{APIKey: "k"}, r)
	blob := func(kind, name, data string) *event.Part {
		return &event.Part{InlineData: &event.Blob{MIMEType: kind, DisplayName: name, Data: []byte(data)}}
	}
	link := func(kind, uri string) *event.Part {
		return &event.Part{FileData: &event.FileData{MIMEType: kind, FileURI: uri}}
	}
	if _, err := generate(t, m, ask(&event.Content{Role: event.RoleUser, Parts: []*event.Part{
		blob("image/png", "", "1"), blob("application/pdf", "a.pdf", "2"), blob("text/csv; charset=utf-8", "b.csv", "x,y"), blob("audio/mpeg", "c.mp3", "3"),
		link("application/pdf", "https://h/d.pdf"), link("image/png", "gs://b/e.png"),
	}})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"source":{"data":"MQ==","media_type":"image/png","type":"base64"},"type":"image"}`,
		`{"source":{"data":"Mg==","media_type":"application/pdf","type":"base64"},"title":"a.pdf","type":"document"}`,
		`{"source":{"data":"x,y","media_type":"text/plain","type":"text"},"title":"b.csv","type":"document"}`,
		`[The file c.mp3 of type audio/mpeg was left out: this model cannot read it.]`,
		`{"source":{"url":"https://h/d.pdf","type":"url"},"type":"document"}`,
		`[The file gs://b/e.png of type image/png was left out: this model cannot read it.]`,
	} {
		if !strings.Contains(string(r.body), want) {
			t.Errorf("no %s in %s", want, r.body)
		}
	}
}

func TestRequestThatCannotBe(t *testing.T) {
	m := newModel(t, "claude-x", anthropic.Options{APIKey: "k"}, &round{answer: ok})
	for want, change := range map[string]func(*model.Request){
		"parameters of tool f are not JSON":  func(r *model.Request) { r.Tools = []model.Declaration{{Name: "f", Parameters: json.RawMessage(`{`)}} },
		"schema of the response is not JSON": func(r *model.Request) { r.Config = &model.Config{ResponseSchema: json.RawMessage(`{`)} },
		"arguments of the call of f are not JSON": func(r *model.Request) {
			r.SetContents([]*event.Content{{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{Name: "f", Args: json.RawMessage(`{`)}}}}})
		},
	} {
		req := ask()
		change(req)
		if _, err := generate(t, m, req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want …%s…", err, want)
		}
	}
}

// TestOddStreams has streams that no server should send: the call ends with one
// response or one error, and no call in it has arguments that are not an object. It
// is not a fuzz test because the SDK takes minutes to build for one.
func TestOddStreams(t *testing.T) {
	start := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":%}}`
	stop := `{"type":"message_stop"}`
	for _, stream := range []string{
		"", "\n\n", "event: x", "data: {}\n\n", "event: message_start\ndata: []\n\n", "event: message_delta\ndata: 5\n\n",
		events(strings.Replace(start, "%", `[1]`, 1), stop), events(strings.Replace(start, "%", `{"x":1}`, 1), stop), events(strings.Replace(start, "%", `null`, 1), stop),
		events(strings.Replace(start, "%", `{}`, 1), `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"5"}}`, stop),
		events(`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"lost"}}`, stop), events(stop, stop),
		events(`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`), events(`{"type":"error"}`), "event: error\ndata: x\n\n",
		events(`{"type":"content_block_start","index":0,"content_block":{"type":"strange","text":"?"}}`, `{"type":"new_event"}`, stop),
	} {
		m := newModel(t, "claude-x", anthropic.Options{APIKey: "k", Limits: model.Limits{Tries: 1}}, &round{answer: stream})
		req, ends := ask(), 0
		req.Stream = true
		for resp, err := range m.Generate(t.Context(), req) {
			if err != nil || !resp.Partial {
				ends++
			}
			if err != nil || resp.Content == nil {
				continue
			}
			for _, c := range resp.Content.FunctionCalls() {
				var object map[string]json.RawMessage
				if json.Unmarshal(c.Args, &object) != nil {
					t.Errorf("%q: a call with %s", stream, c.Args)
				}
			}
		}
		if ends != 1 {
			t.Errorf("%q: %d ends", stream, ends)
		}
	}
}
