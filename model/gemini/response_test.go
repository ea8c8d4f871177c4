package gemini_test

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/gemini"
)

func parts(p ...*event.Part) *event.Content { return &event.Content{Role: event.RoleModel, Parts: p} }

// TestResponses has what the API may say in one piece. Asked for a stream, it
// says the same in one chunk, and the answer has to be the same.
func TestResponses(t *testing.T) {
	tests := []struct {
		name, doc string
		want      model.Response
	}{
		{
			"text, usage and what is passed on",
			said(`{"text":"Hi"}`, `,"finishReason":"STOP","avgLogprobs":-0.5,"groundingMetadata":{"webSearchQueries":["q"]},
				"citationMetadata":{"citationSources":[{"startIndex":1,"uri":"u"}]},"logprobsResult":{"chosenCandidates":[{"token":"Hi"}]}`,
				`,"modelVersion":"gemini-test-001","usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":21,"cachedContentTokenCount":3,
				"thoughtsTokenCount":4,"toolUsePromptTokenCount":5,"promptTokensDetails":[{"modality":"TEXT","tokenCount":1}],"trafficType":"ON_DEMAND"}`),
			model.Response{
				Content: parts(&event.Part{Text: "Hi"}), FinishReason: "STOP", ModelVersion: "gemini-test-001",
				Usage: &event.Usage{
					Prompt: 1, Candidates: 2, Total: 21, CachedContent: 3, Thoughts: 4, ToolUsePrompt: 5,
					Extra: map[string]json.RawMessage{"promptTokensDetails": raw(`[{"modality":"TEXT","tokenCount":1}]`), "trafficType": raw(`"ON_DEMAND"`)},
				},
				Extra: map[string]json.RawMessage{
					"avgLogprobs": raw(`-0.5`), "groundingMetadata": raw(`{"webSearchQueries":["q"]}`),
					"citationMetadata": raw(`{"citations":[{"startIndex":1,"uri":"u"}]}`), "logprobsResult": raw(`{"chosenCandidates":[{"token":"Hi"}]}`),
				},
			},
		},
		{
			"every payload",
			said(`{"text":"hm","thought":true},{"text":"A","thoughtSignature":"AQI="},
				{"functionCall":{"id":"c1","name":"f","args":{"n":1,"deep":{"l":[true,null]}}},"thoughtSignature":"Aw=="},{"functionCall":{"name":"g"}},
				{"inlineData":{"mimeType":"image/png","data":"iVBO"}},{"fileData":{"mimeType":"text/plain","fileUri":"gs://b/o"}},
				{"executableCode":{"id":"x","code":"1+1","language":"PYTHON"}},{"codeExecutionResult":{"id":"x","outcome":"OUTCOME_OK","output":"2"}},
				{"toolCall":{"id":"t","toolType":"GOOGLE_SEARCH_WEB"}},{"text":"","thoughtSignature":"BA=="}`, `,"finishReason":"STOP"`, ""),
			model.Response{FinishReason: "STOP", Content: parts(
				&event.Part{Text: "hm", Thought: true},
				&event.Part{Text: "A", ThoughtSignature: []byte{1, 2}},
				&event.Part{FunctionCall: &event.FunctionCall{ID: "c1", Name: "f", Args: raw(`{"n":1,"deep":{"l":[true,null]}}`)}, ThoughtSignature: []byte{3}},
				&event.Part{FunctionCall: &event.FunctionCall{Name: "g", Args: raw(`{}`)}},
				&event.Part{InlineData: &event.Blob{MIMEType: "image/png", Data: []byte{0x89, 'P', 'N'}}},
				&event.Part{FileData: &event.FileData{MIMEType: "text/plain", FileURI: "gs://b/o"}},
				&event.Part{ExecutableCode: &event.ExecutableCode{ID: "x", Code: "1+1", Language: "PYTHON"}},
				&event.Part{CodeExecutionResult: &event.CodeExecutionResult{ID: "x", Outcome: "OUTCOME_OK", Output: "2"}},
				&event.Part{Extra: map[string]json.RawMessage{"toolCall": raw(`{"id":"t","toolType":"GOOGLE_SEARCH_WEB"}`)}},
				&event.Part{ThoughtSignature: []byte{4}},
			)},
		},
		{
			"cut short, but with something said",
			said(`{"text":"Once upon"}`, `,"finishReason":"MAX_TOKENS"`, ""),
			model.Response{Content: parts(&event.Part{Text: "Once upon"}), FinishReason: "MAX_TOKENS"},
		},
		{
			"blocked prompt",
			`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"No."},"usageMetadata":{"promptTokenCount":7}}`,
			model.Response{ErrorCode: "PROHIBITED_CONTENT", ErrorMessage: "No.", Usage: &event.Usage{Prompt: 7}},
		},
		{
			"blocked prompt without a message",
			`{"promptFeedback":{"blockReason":"SAFETY"}}`,
			model.Response{ErrorCode: "SAFETY", ErrorMessage: "The prompt was blocked."},
		},
		{
			"blocked answer",
			`{"candidates":[{"finishReason":"SAFETY"}]}`,
			model.Response{ErrorCode: "SAFETY", ErrorMessage: "The model stopped without an answer.", FinishReason: "SAFETY"},
		},
		{
			"malformed call",
			`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL"}]}`,
			model.Response{ErrorCode: "MALFORMED_FUNCTION_CALL", ErrorMessage: "The model stopped without an answer.", FinishReason: "MALFORMED_FUNCTION_CALL"},
		},
		{"nothing to say", `{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}]}`, model.Response{FinishReason: "STOP"}},
		{"nothing at all", `{}`, model.Response{ErrorCode: "UNKNOWN_ERROR", ErrorMessage: "The model gave neither an answer nor a reason."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, reply(200, tt.doc), sse(1, "\n\n", compact(t, tt.doc)))
			m := a.model(t)
			for _, stream := range []bool{false, true} {
				_, got, err := generate(t, m, ask(stream, "Hello"))
				if err != nil {
					t.Fatalf("stream %t: %v", stream, err)
				}
				equal(t, "response", &tt.want, got)
			}
		})
	}
}

// TestFinishMessage is about Vertex AI: of the Gemini API the SDK drops it.
func TestFinishMessage(t *testing.T) {
	a := serve(t, reply(200, `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed: f("}]}`))
	m := newModel(t, "gemini-x", &gemini.Options{VertexAI: true, Project: "p", BaseURL: a.URL, HTTPClient: a.Client()})
	_, got, err := generate(t, m, ask(false, "Hello"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "response", &model.Response{ErrorCode: "MALFORMED_FUNCTION_CALL", ErrorMessage: "Malformed: f(", FinishReason: "MALFORMED_FUNCTION_CALL"}, got)
}

func TestStream(t *testing.T) {
	chunks := []string{
		said(`{"text":"Let me ","thought":true}`, "", `,"modelVersion":"v1","usageMetadata":{"promptTokenCount":3,"totalTokenCount":3}`),
		said(`{"text":"think.","thought":true}`, `,"citationMetadata":{"citationSources":[{"uri":"a"}]},"logprobsResult":{"chosenCandidates":[{"token":"x"}]}`, ""),
		said(`{"text":"","thought":true,"thoughtSignature":"AQ=="}`, "", ""),
		said(`{"text":"Grüezi "}`, "", ""),
		said(`{"text":"👋 ","thoughtSignature":"Ag=="},{"text":"and"}`, "", ""),
		said(`{"text":" more"}`, `,"citationMetadata":{"citationSources":[{"uri":"b"}]},"logprobsResult":{"chosenCandidates":[{"token":"y"}]}`, ""),
		said(`{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"Aw=="},{"functionCall":{"name":"f","args":{"x":2}}}`, "", ""),
		said(`{"functionCall":{"id":"c","name":"g","args":{}}}`, "", ""),
		said(`{"text":"."}`, `,"finishReason":"STOP"`, `,"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":9,"totalTokenCount":12}`),
	}
	call := func(id, name, args, signature string) *event.Part {
		return &event.Part{FunctionCall: &event.FunctionCall{ID: id, Name: name, Args: raw(args)}, ThoughtSignature: []byte(signature)}
	}
	want := &model.Response{
		Content: parts(
			&event.Part{Text: "Let me think.", Thought: true, ThoughtSignature: []byte{1}},
			&event.Part{Text: "Grüezi 👋 ", ThoughtSignature: []byte{2}}, &event.Part{Text: "and more"},
			call("", "f", `{"x":1}`, "\x03"), call("", "f", `{"x":2}`, ""), call("c", "g", `{}`, ""), &event.Part{Text: "."},
		),
		FinishReason: "STOP", ModelVersion: "v1", Usage: &event.Usage{Prompt: 3, Candidates: 9, Total: 12},
		Extra: map[string]json.RawMessage{
			"citationMetadata": raw(`{"citations":[{"uri":"a"},{"uri":"b"}]}`), "logprobsResult": raw(`{"chosenCandidates":[{"token":"x"},{"token":"y"}]}`),
		},
	}
	for _, tt := range []struct {
		name, end string
		size      int
	}{{"byte by byte", "\n\n", 1}, {"odd sizes", "\n\n", 13}, {"at once", "\n\n", 1 << 20}, {"CRLF", "\r\n\r\n", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			a := serve(t, sse(tt.size, tt.end, chunks...))
			pieces, whole, err := generate(t, a.model(t), ask(true, "Hello"))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "the whole", want, whole)
			var heard []*event.Part
			for _, p := range pieces {
				heard = append(heard, p.Content.Parts...)
			}
			equal(t, "the pieces", []*event.Part{
				{Text: "Let me ", Thought: true}, {Text: "think.", Thought: true}, {Text: "Grüezi "}, {Text: "👋 "}, {Text: "and"}, {Text: " more"}, {Text: "."},
			}, heard)
		})
	}
}

// TestStreamsAsItComes fails if a piece waited for the next one: the server
// says more only after the first was heard.
func TestStreamsAsItComes(t *testing.T) {
	heard := make(chan struct{})
	a := serve(t, hold(heard, said(`{"text":"one"}`, "", ""), said(`{"text":" two"}`, `,"finishReason":"STOP"`, "")))
	for resp, err := range a.model(t).Generate(t.Context(), ask(true, "Hello")) {
		if err != nil {
			t.Fatal(err)
		}
		if resp.Content.Text() == "one" {
			close(heard)
		}
	}
}
