package openai_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/openai"
)

func TestMain(m *testing.M) { leak.Main(m) }

// round answers every request with the same, and keeps the last one.
type round struct {
	status int
	answer string
	saw    *http.Request
	body   []byte
}

func (r *round) RoundTrip(req *http.Request) (*http.Response, error) {
	r.saw = req
	r.body, _ = io.ReadAll(req.Body)
	if r.status == 0 {
		r.status = 200
	}
	return &http.Response{StatusCode: r.status, Body: io.NopCloser(strings.NewReader(r.answer)), Header: http.Header{}, Request: req}, nil
}

const ok = `{"model":"m-1","choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`

func generate(t *testing.T, m model.Model, req *model.Request) (whole *model.Response, err error) {
	t.Helper()
	for resp, e := range m.Generate(t.Context(), req) {
		if e != nil || !resp.Partial {
			whole, err = resp, e
		}
	}
	return whole, err
}

func ask(stream bool) *model.Request {
	req := &model.Request{Stream: stream}
	req.SetContents([]*event.Content{event.Text(event.RoleUser, "Hello")})
	return req
}

func TestConfiguration(t *testing.T) {
	tests := []struct {
		name, model string
		opts        openai.Options
		env         string
		url, auth   string
	}{
		{"OpenAI", "gpt-x", openai.Options{}, "OPENAI_API_KEY=k", "https://api.openai.com/v1/chat/completions", "Bearer k"},
		{"key in code", "gpt-x", openai.Options{APIKey: "mine"}, "OPENAI_API_KEY=k", "https://api.openai.com/v1/chat/completions", "Bearer mine"},
		{"base", "m", openai.Options{}, "OPENAI_BASE_URL=http://vllm:8000/v1/", "http://vllm:8000/v1/chat/completions", ""},
		{"base in code", "m", openai.Options{BaseURL: "http://b/api/v2"}, "OPENAI_BASE_URL=http://a/v1 OPENAI_API_KEY=k", "http://b/api/v2/chat/completions", "Bearer k"},
		{"Ollama", "llama3.2", openai.Options{Ollama: true}, "OPENAI_API_KEY=k OPENAI_BASE_URL=http://a/v1", "http://localhost:11434/v1/chat/completions", ""},
		{"Ollama elsewhere", "m", openai.Options{Ollama: true}, "OLLAMA_HOST=box OLLAMA_API_KEY=o", "http://box:11434/v1/chat/completions", "Bearer o"},
		{"Ollama with a port", "m", openai.Options{Ollama: true}, "OLLAMA_HOST=0.0.0.0:9999", "http://localhost:9999/v1/chat/completions", ""},
		{"Ollama with a scheme", "m", openai.Options{Ollama: true}, "OLLAMA_HOST=https://ollama.com/", "https://ollama.com:443/v1/chat/completions", ""},
		{"Ollama with a port alone", "m", openai.Options{Ollama: true}, "OLLAMA_HOST=:7777", "http://localhost:7777/v1/chat/completions", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &round{answer: ok}
			env := map[string]string{}
			for pair := range strings.FieldsSeq(tt.env) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
			}
			tt.opts.HTTPClient, tt.opts.Getenv = &http.Client{Transport: r}, func(name string) string { return env[name] }
			tt.opts.Headers = map[string]string{"X-Team": "blue"}
			m, err := openai.New(tt.model, &tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := generate(t, m, ask(false)); err != nil || resp.Content.Text() != "ok" {
				t.Fatalf("got %+v, %v", resp, err)
			}
			got := []string{r.saw.URL.String(), r.saw.Header.Get("Authorization"), r.saw.Header.Get("X-Team")}
			if diff := cmp.Diff([]string{tt.url, tt.auth, "blue"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, opts := range map[string]*openai.Options{"": nil, "m": {BaseURL: "localhost:8000/v1"}} {
		if _, err := openai.New(name, opts); err == nil {
			t.Errorf("%q with %+v was taken", name, opts)
		}
	}
}

func TestMissingKey(t *testing.T) {
	m, _ := openai.New("gpt-x", nil)
	got, err := generate(t, m, ask(true))
	if err != nil || got.ErrorCode != "MISSING_API_KEY" || !strings.Contains(got.ErrorMessage, "OPENAI_API_KEY") || !strings.Contains(got.ErrorMessage, "--offline") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMatch(t *testing.T) {
	for name, want := range map[string]bool{
		"gpt-5": true, "o1": true, "o3-mini": true, "o4-mini": true, "chatgpt-4o-latest": true, "ft:gpt-4o:org": true,
		"ollama": false, "gemini-1": false, "o": false, "opus": false, "claude-3": false, "": false,
	} {
		if openai.Match(name) != want {
			t.Errorf("Match(%q) is %t", name, !want)
		}
	}
}

// TestSettings has all settings, for OpenAI itself and for other servers.
func TestSettings(t *testing.T) {
	all := &model.Config{
		Temperature: new(0.5), TopP: new(0.9), TopK: new(40.0), Seed: new(int64(7)), PresencePenalty: new(0.1), FrequencyPenalty: new(0.2),
		MaxOutputTokens: 100, StopSequences: []string{"END"}, ResponseSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`),
		ToolChoice: &model.ToolChoice{Mode: model.ToolsAny, Allowed: []string{"f"}}, Thinking: &model.Thinking{Level: "LOW", IncludeThoughts: true},
		Logprobs: new(int64(2)), SafetySettings: []model.SafetySetting{{Category: "C", Threshold: "T"}}, CachedContent: "c",
		Labels: map[string]string{"a": "b"}, ServiceTier: "FLEX", Extra: map[string]json.RawMessage{"speechConfig": json.RawMessage(`{}`)},
	}
	const common = `"model":"m","messages":[{"role":"user","content":"Hello"}],"temperature":0.5,"top_p":0.9,"seed":7,"presence_penalty":0.1,"frequency_penalty":0.2,
		"stop":["END"],"reasoning_effort":"low","logprobs":true,"top_logprobs":2,"service_tier":"flex",
		"tools":[{"type":"function","function":{"name":"f","description":""}}],"tool_choice":{"type":"function","function":{"name":"f"}},
		"response_format":{"type":"json_schema","json_schema":{"name":"response","strict":true,
			"schema":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}}`
	for _, tt := range []struct{ name, base, want, ignored string }{
		{"OpenAI", "https://api.openai.com/v1", `{"max_completion_tokens":100,` + common + "}", "cachedContent labels safetySettings speechConfig thinkingConfig.includeThoughts topK"},
		{"another", "http://other/v1", `{"max_tokens":100,"top_k":40,` + common + "}", "cachedContent labels safetySettings speechConfig"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &round{answer: ok}
			m, err := openai.New("m", &openai.Options{APIKey: "k", BaseURL: tt.base, HTTPClient: &http.Client{Transport: r}})
			if err != nil {
				t.Fatal(err)
			}
			req := ask(false)
			req.Config, req.Tools = all, []model.Declaration{{Name: "f"}, {Name: "g"}}
			if _, err := generate(t, m, req); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, tt.want), decode(t, string(r.body))); diff != "" {
				t.Errorf("-want +sent:\n%s", diff)
			}
			if got := strings.Join(model.Ignored(m, all), " "); got != tt.ignored {
				t.Errorf("ignored %s", got)
			}
		})
	}
}

// TestStrict has schemas that a server cannot hold a model to.
func TestStrict(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                                                                        false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:                          false,
		`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}}`: true,
		`{"anyOf":[{"type":"object","properties":{"a":{}},"required":[],"additionalProperties":false}]}`:                                false,
	} {
		r := &round{answer: ok}
		m, _ := openai.New("m", &openai.Options{BaseURL: "http://o/v1", HTTPClient: &http.Client{Transport: r}})
		req := ask(false)
		req.Config = &model.Config{ResponseSchema: json.RawMessage(schema)}
		if _, err := generate(t, m, req); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(r.body), `"strict":true`); got != want {
			t.Errorf("%s: strict is %t", schema, got)
		}
	}
}

func decode(t *testing.T, doc string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRefusals has the forms in which servers refuse.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status              int
		body, code, message string
	}{
		{400, `{"error":{"message":"Too long.","type":"invalid_request_error","code":"context_length_exceeded"}}`, "INVALID_ARGUMENT", "Too long."},
		{404, `{"error":{"code":404,"message":"No such model.","type":"NotFoundError"}}`, "NOT_FOUND", "No such model."},
		{404, `{"object":"error","message":"The model does not exist.","code":404}`, "NOT_FOUND", "The model does not exist."},
		{400, `{"error":"model is required"}`, "INVALID_ARGUMENT", "model is required"},
		{404, `{"detail":"Not Found"}`, "NOT_FOUND", "Not Found"},
		{422, `{"detail":[{"loc":["body"]}]}`, "INVALID_ARGUMENT", `{"detail":[{"loc":["body"]}]}`},
		{429, `{"error":{"message":"You exceeded your quota.","type":"insufficient_quota","code":"insufficient_quota"}}`, "RESOURCE_EXHAUSTED", "You exceeded your quota."},
		{200, `{"error":{"message":"Odd.","code":418}}`, "HTTP_418", "Odd."},
	} {
		r := &round{status: tt.status, answer: tt.body}
		m, _ := openai.New("m", &openai.Options{BaseURL: "http://o/v1", HTTPClient: &http.Client{Transport: r}})
		got, err := generate(t, m, ask(false))
		if err != nil || got.ErrorCode != tt.code || got.ErrorMessage != tt.message {
			t.Errorf("%s: got %+v, %v", tt.body, got, err)
		}
	}
}

// TestOddStreams has calls and thoughts as servers other than OpenAI send them.
func TestOddStreams(t *testing.T) {
	chunk := func(delta string) string { return `data: {"choices":[{"delta":` + delta + `}]}` + "\n\n" }
	end := `data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"
	call := func(id, name, args string) *event.Part {
		return &event.Part{FunctionCall: &event.FunctionCall{ID: id, Name: name, Args: json.RawMessage(args)}}
	}
	tests := []struct {
		name, stream string
		want         []*event.Part
	}{
		{
			"whole calls without an index", chunk(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]}`) + end + "data: [DONE]\n\n",
			[]*event.Part{call("a", "f", "{}"), call("b", "g", "{}")},
		},
		{
			"the same index for all",
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`) + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`) +
				chunk(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":""}}]}`) + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`) + end,
			[]*event.Part{call("a", "f", `{"x":1}`), call("b", "f", "{}")},
		},
		{
			"the same index and id for all",
			chunk(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"f","arguments":"{\"x\":1}"}}]}`) + chunk(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"f","arguments":"{\"x\":2}"}}]}`) + end,
			[]*event.Part{call("call_0", "f", `{"x":1}`), call("call_0", "f", `{"x":2}`)},
		},
		{
			"id and name in every piece",
			chunk(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"f","arguments":"{\"x\":"}}]}`) + chunk(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"f","arguments":"{}"}}]}`) +
				chunk(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"f","arguments":"}"}}]}`) + end,
			[]*event.Part{call("call_0", "f", `{"x":{}}`)},
		},
		{
			"interleaved", chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`) + chunk(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":""}}]}`) +
				chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}},{"index":1,"function":{"arguments":"null"}}]}`) + end,
			[]*event.Part{call("a", "f", `{"x":1}`), call("b", "g", "{}")},
		},
		{
			"thoughts under another name, comments and no last line", ": hello\n\nevent: x\n" + chunk(`{"reasoning":"Hm."}`) + chunk(`{"content":"Yes."}`) + `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`,
			[]*event.Part{{Text: "Hm.", Thought: true, ThoughtSignature: []byte("openai:reasoning")}, {Text: "Yes."}},
		},
		{
			"a signature of a gateway", chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]}`) + end,
			[]*event.Part{{FunctionCall: &event.FunctionCall{ID: "a", Name: "f", Args: json.RawMessage("{}")}, ThoughtSignature: []byte(`openai:{"google":{"thought_signature":"s"}}`)}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &round{answer: tt.stream}
			m, _ := openai.New("m", &openai.Options{BaseURL: "http://o/v1", HTTPClient: &http.Client{Transport: r}})
			got, err := generate(t, m, ask(true))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Content.Parts); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			// And back, where the members have the names that they came under.
			req := ask(false)
			back := []*event.Content{event.Text(event.RoleUser, "Hello"), got.Content}
			var results []*event.Part
			for _, c := range got.Content.FunctionCalls() {
				results = append(results, &event.Part{FunctionResponse: &event.FunctionResponse{ID: c.ID, Name: c.Name, Response: json.RawMessage(`{}`)}})
			}
			if results != nil {
				back = append(back, &event.Content{Role: event.RoleUser, Parts: results})
			}
			req.SetContents(back)
			r.answer = ok
			if _, err := generate(t, m, req); err != nil {
				t.Fatal(err)
			}
			for _, member := range []string{`"reasoning":"Hm."`, `"extra_content":{"google":{"thought_signature":"s"}}`} {
				if strings.Contains(tt.stream, member) != strings.Contains(string(r.body), member) {
					t.Errorf("%s: sent %s", member, r.body)
				}
			}
		})
	}
}

func TestRefusedByTheModel(t *testing.T) {
	r := &round{answer: `{"choices":[{"message":{"content":null,"refusal":"I can't."},"finish_reason":"stop","logprobs":{"content":[{"token":"I","logprob":-1,"top_logprobs":[{"token":"U","logprob":-2}]}]}}]}`}
	m, _ := openai.New("m", &openai.Options{BaseURL: "http://o/v1", HTTPClient: &http.Client{Transport: r}})
	got, err := generate(t, m, ask(false))
	want := &model.Response{
		ErrorCode: "SAFETY", ErrorMessage: "I can't.", FinishReason: "SAFETY",
		Extra: map[string]json.RawMessage{"logprobsResult": json.RawMessage(`{"chosenCandidates":[{"token":"I","logProbability":-1}],"topCandidates":[{"candidates":[{"token":"U","logProbability":-2}]}]}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// TestPartsOfContent has servers that answer with a list where others have a text.
func TestPartsOfContent(t *testing.T) {
	const list = `[{"type":"text","text":"Hi "},{"type":"image_url","image_url":{"url":"x"}},null,{"type":"text","text":"there."}]`
	for _, tt := range []struct {
		answer, want, err string
		stream            bool
	}{
		{answer: `{"choices":[{"message":{"content":` + list + `},"finish_reason":"stop"}]}`, want: "Hi there."},
		{answer: `data: {"choices":[{"delta":{"content":` + list + `},"finish_reason":"stop"}]}` + "\n\n", want: "Hi there.", stream: true},
		{answer: `{"choices":[{"message":{"content":[]},"finish_reason":"stop"}]}`},
		{answer: `{"choices":[{"message":{"content":5},"finish_reason":"stop"}]}`, err: "cannot be read"},
		{answer: `{"choices":[{"message":{"content":["Hi"]},"finish_reason":"stop"}]}`, err: "cannot be read"},
	} {
		m, _ := openai.New("m", &openai.Options{BaseURL: "http://o/v1", HTTPClient: &http.Client{Transport: &round{answer: tt.answer}}})
		got, err := generate(t, m, ask(tt.stream))
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %+v, %v", tt.answer, got, err)
			}
		} else if err != nil || got.ErrorCode != "" || got.Content.Text() != tt.want {
			t.Errorf("%s: got %+v, %v", tt.answer, got, err)
		}
	}
}

// TestUsage has the two ways in which servers count thoughts.
func TestUsage(t *testing.T) {
	for usage, want := range map[string]event.Usage{
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":4}}`: {Prompt: 10, Candidates: 3, Thoughts: 4, Total: 17},
		`{"prompt_tokens":10,"completion_tokens":3,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":4}}`: {Prompt: 10, Candidates: 3, Thoughts: 4, Total: 17},
		`{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}`:                          {Prompt: 10, Candidates: 3, CachedContent: 8, Total: 13},
	} {
		r := &round{answer: strings.TrimSuffix(ok, "}") + `,"usage":` + usage + "}"}
		m, _ := openai.New("m", &openai.Options{BaseURL: "http://o/v1", HTTPClient: &http.Client{Transport: r}})
		got, err := generate(t, m, ask(false))
		if diff := cmp.Diff(&want, got.Usage); diff != "" || err != nil {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	}
}

// TestOwnConnections uses a real socket and the shared transport.
func TestOwnConnections(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, ok) }))
	defer srv.Close()
	m, _ := openai.New("m", &openai.Options{BaseURL: srv.URL + "/v1"})
	if got, err := generate(t, m, ask(false)); err != nil || got.Content.Text() != "ok" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// FuzzStream feeds streams of all kinds. Whatever comes, the call ends with one
// response or one error, and no call in it has arguments that are not an object.
func FuzzStream(f *testing.F) {
	f.Add("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n")
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]},\"finish_reason\":\"stop\"}]}\r\n\r\n")
	f.Add("data: {\"error\":\"x\"}\r\r")
	f.Add(":\ndata\ndata:\ndata: {}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		m, _ := openai.New("m", &openai.Options{BaseURL: "http://o/v1", HTTPClient: &http.Client{Transport: &round{answer: stream}}, Limits: model.Limits{Tries: 1}})
		ends := 0
		for resp, err := range m.Generate(t.Context(), ask(true)) {
			if err != nil || !resp.Partial {
				ends++
			}
			if err != nil {
				if errors.Is(err, io.EOF) {
					t.Error("an end is not an error")
				}
				continue
			}
			if resp.Content == nil {
				continue
			}
			for _, c := range resp.Content.FunctionCalls() {
				var object map[string]json.RawMessage
				if json.Unmarshal(c.Args, &object) != nil {
					t.Errorf("a call with %s", c.Args)
				}
			}
		}
		if ends != 1 {
			t.Errorf("%d ends", ends)
		}
	})
}
