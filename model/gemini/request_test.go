package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/gemini"
)

const ok = `{"candidates":[{"content":{"role":"model","parts":[{"text":"ok"}]},"finishReason":"STOP"}]}`

func everything() *model.Request {
	req := &model.Request{
		Instruction: "Be kind.",
		Tools: []model.Declaration{
			{Name: "f", Description: "does f", Parameters: raw(`{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":false}`)},
			{Name: "g"},
		},
		Config: &model.Config{
			Temperature: new(0.0), TopP: new(0.9), TopK: new(40.0), Seed: new(int64(7)), PresencePenalty: new(0.1), FrequencyPenalty: new(-0.2),
			MaxOutputTokens: 1 << 40, StopSequences: []string{"END"}, ResponseSchema: raw(`{"type":"object"}`),
		},
	}
	call := func(id, name, args string, signature ...byte) *event.Part {
		return &event.Part{FunctionCall: &event.FunctionCall{ID: id, Name: name, Args: raw(args)}, ThoughtSignature: signature}
	}
	response := func(id, name, result string) *event.Part {
		return &event.Part{FunctionResponse: &event.FunctionResponse{ID: id, Name: name, Response: raw(result), WillContinue: true}}
	}
	req.SetContents([]*event.Content{
		{Parts: []*event.Part{
			{Text: "Look"},
			{Text: ""},
			{InlineData: &event.Blob{MIMEType: "image/png", Data: []byte{1}, DisplayName: "a.png"}},
			{FileData: &event.FileData{MIMEType: "video/mp4", FileURI: "gs://b/v", DisplayName: "v.mp4"}, Extra: map[string]json.RawMessage{"videoMetadata": raw(`{"fps":1}`)}},
		}},
		{Role: event.RoleModel},
		{Role: event.RoleModel, Parts: []*event.Part{
			{Text: "hm", Thought: true, ThoughtSignature: []byte{1}},
			call(model.CallIDPrefix+"1", "f", `{"x":1}`, 2), call("c2", "g", `{}`),
			{ThoughtSignature: []byte{3}},
			{Extra: map[string]json.RawMessage{"toolCall": raw(`{"id":"t"}`)}},
		}},
		{Role: event.RoleUser, Parts: []*event.Part{response(model.CallIDPrefix+"1", "f", `{"result":[1]}`), response("c2", "g", `{}`)}},
		{Role: event.RoleModel, Parts: []*event.Part{
			{ExecutableCode: &event.ExecutableCode{Code: "1+1", Language: "PYTHON"}},
			{CodeExecutionResult: &event.CodeExecutionResult{Outcome: "OUTCOME_OK", Output: "2"}},
			{ExecutableCode: &event.ExecutableCode{Code: "ls", Language: "SHELL"}},
		}},
	})
	return req
}

const sent = `{
	"systemInstruction":{"role":"user","parts":[{"text":"Be kind."}]},
	"tools":[{"functionDeclarations":[
		{"name":"f","description":"does f","parametersJsonSchema":{"type":"object","properties":{"x":{"type":"integer"}},"additionalProperties":false}},
		{"name":"g"}]}],
	"generationConfig":{"temperature":0,"topP":0.9,"topK":40,"seed":7,"presencePenalty":0.1,"frequencyPenalty":-0.2,"maxOutputTokens":2147483647,
		"stopSequences":["END"],"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}},
	"contents":[
		{"role":"user","parts":[{"text":"Look"},{"inlineData":{"mimeType":"image/png","data":"AQ=="DISPLAY_A}},
			{"fileData":{"mimeType":"video/mp4","fileUri":"gs://b/v"DISPLAY_V},"videoMetadata":{"fps":1}}]},
		{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"AQ=="},
			{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"Ag=="},{"functionCall":{"id":"c2","name":"g","args":{}}},
			{"text":"","thoughtSignature":"Aw=="}TOOL_CALL]},
		{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":[1]}}},{"functionResponse":{"id":"c2","name":"g","response":{}}}]},
		{"role":"model","parts":[{"executableCode":{"code":"1+1","language":"PYTHON"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}},{"text":"` + "```shell\\nls\\n```" + `"}]},
		{"role":"user","parts":[{"text":"Go on as instructed. When nothing is left to do, sum up what was done."}]}]}`

func TestRequest(t *testing.T) {
	tests := []struct {
		name, path string
		opts       gemini.Options
		differs    []string
	}{
		{
			"Gemini API", "/v1beta/models/gemini-test:",
			gemini.Options{APIKey: key},
			[]string{"DISPLAY_A", "", "DISPLAY_V", "", "TOOL_CALL", `,{"toolCall":{"id":"t"}}`},
		},
		{
			"Vertex AI", "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-test:",
			gemini.Options{VertexAI: true, Project: "p", Location: "l"},
			[]string{"DISPLAY_A", `,"displayName":"a.png"`, "DISPLAY_V", `,"displayName":"v.mp4"`, "TOOL_CALL", ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, reply(200, ok), sse(1, "\n\n", ok))
			tt.opts.BaseURL, tt.opts.HTTPClient, tt.opts.Headers = a.URL, a.Client(), map[string]string{"x-team": "blue"}
			m := newModel(t, "gemini-test", &tt.opts)
			for i, method := range []string{"generateContent", "streamGenerateContent"} {
				req := everything()
				req.Stream = i == 1
				if _, got, err := generate(t, m, req); err != nil || got.Content.Text() != "ok" {
					t.Fatalf("%s: got %+v, %v", method, got, err)
				}
				saw := a.requests()[i]
				equal(t, "path", tt.path+method, saw.path)
				equal(t, "query", map[int]string{1: "alt=sse"}[i], saw.query)
				equal(t, "key", tt.opts.APIKey, saw.header.Get("X-Goog-Api-Key"))
				equal(t, "header", "blue", saw.header.Get("X-Team"))
				equal(t, "body", raw(strings.NewReplacer(tt.differs...).Replace(sent)), saw.body)
			}
		})
	}
}

func TestRequestOfLittle(t *testing.T) {
	tests := []struct{ name, model, instruction, want string }{
		{"nothing", "gemini-x", "", `{"contents":[{"role":"user","parts":[{"text":"Do what the system instruction asks for."}]}],"generationConfig":{}}`},
		{"no system instruction known", "gemma-3-4b-it", "Be kind.", `{"contents":[{"role":"user","parts":[{"text":"Be kind."}]}],"generationConfig":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, reply(200, ok))
			m := newModel(t, tt.model, &gemini.Options{APIKey: key, BaseURL: a.URL, HTTPClient: a.Client()})
			if _, _, err := generate(t, m, &model.Request{Instruction: tt.instruction}); err != nil {
				t.Fatal(err)
			}
			equal(t, "body", raw(tt.want), a.requests()[0].body)
		})
	}
}

func TestRequestThatCannotBe(t *testing.T) {
	m := newModel(t, "gemini-x", &gemini.Options{APIKey: key, BaseURL: "http://127.0.0.1:1"})
	broken := func(change func(*model.Request)) *model.Request {
		req := ask(false, "Hello")
		change(req)
		return req
	}
	tests := []struct {
		name, want string
		req        *model.Request
	}{
		{"parameters", "parameters of tool f are not JSON", broken(func(r *model.Request) { r.Tools = []model.Declaration{{Name: "f", Parameters: raw(`{`)}} })},
		{"schema", "schema of the response is not JSON", broken(func(r *model.Request) { r.Config = &model.Config{ResponseSchema: raw(`{`)} })},
		{"extra", "not in the form of the Gemini API", broken(func(r *model.Request) {
			r.SetContents([]*event.Content{{Parts: []*event.Part{{Text: "x", Extra: map[string]json.RawMessage{"videoMetadata": raw(`5`)}}}}})
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := generate(t, m, tt.req); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want …%s…", err, tt.want)
			}
		})
	}
}

// TestSettings has what only some APIs know, and what other providers do not.
func TestSettings(t *testing.T) {
	config := &model.Config{
		Thinking: &model.Thinking{IncludeThoughts: true, Budget: new(int64(-1))}, ToolChoice: &model.ToolChoice{Mode: model.ToolsAny, Allowed: []string{"f"}},
		Logprobs: new(int64(3)), CachedContent: "cachedContents/c", Labels: map[string]string{"team": "blue"},
		SafetySettings: []model.SafetySetting{{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "BLOCK_NONE", Method: "SEVERITY"}},
		Extra: map[string]json.RawMessage{
			"responseModalities": raw(`["TEXT"]`), "audioTimestamp": raw(`true`), "enableEnhancedCivicAnswers": raw(`true`), "httpOptions": raw(`{"baseUrl":"http://elsewhere"}`),
		},
	}
	for _, tt := range []struct {
		name, want, ignored string
		opts                gemini.Options
	}{
		{"Gemini API", `"enableEnhancedCivicAnswers":true`, "audioTimestamp", gemini.Options{APIKey: key}},
		{"Vertex AI", `"audioTimestamp":true`, "enableEnhancedCivicAnswers", gemini.Options{VertexAI: true, Project: "p"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, reply(200, ok))
			tt.opts.BaseURL, tt.opts.HTTPClient = a.URL, a.Client()
			m := newModel(t, "gemini-x", &tt.opts)
			req := ask(false, "Hello")
			req.Config = config
			if _, got, err := generate(t, m, req); err != nil || got.ErrorCode != "" {
				t.Fatalf("got %+v, %v", got, err)
			}
			sent := compact(t, string(a.requests()[0].body))
			for _, want := range []string{
				tt.want, `"includeThoughts":true`, `"thinkingBudget":-1`, `"mode":"ANY"`, `"allowedFunctionNames":["f"]`, `"responseLogprobs":true`, `"logprobs":3`,
				`cachedContents/c"`, `"team":"blue"`, `"threshold":"BLOCK_NONE"`, `"responseModalities":["TEXT"]`,
			} {
				if !strings.Contains(sent, want) {
					t.Errorf("no %s in %s", want, sent)
				}
			}
			if got := strings.Join(model.Ignored(m, config), " "); got != tt.ignored || strings.Contains(sent, tt.ignored) {
				t.Errorf("ignored %s, sent %s", got, sent)
			}
		})
	}
}
