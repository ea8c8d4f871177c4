package event_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/passthrough"
	"github.com/parley-run/parley/internal/wire"
)

// nest is an object inside of an object, n times.
func nest(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }

// bothSpellings holds every member of the contract. Names inside of values
// that we only carry are data and keep their spelling.
var bothSpellings = []struct {
	name, camel, snake string
	want               event.Event
}{
	{
		"event",
		`{"id":"i","invocationId":"e-1","author":"a","timestamp":1.5,"branch":"x.y","longRunningToolIds":["l"],"partial":true,"turnComplete":true,
		  "interrupted":true,"errorCode":"c","errorMessage":"m","finishReason":"STOP","modelVersion":"v","customMetadata":{"my_key":{"in_ner":1}},
		  "groundingMetadata":{"web_search":1},"avgLogprobs":-1}`,
		`{"id":"i","invocation_id":"e-1","author":"a","timestamp":1.5,"branch":"x.y","long_running_tool_ids":["l"],"partial":true,"turn_complete":true,
		  "interrupted":true,"error_code":"c","error_message":"m","finish_reason":"STOP","model_version":"v","custom_metadata":{"my_key":{"in_ner":1}},
		  "grounding_metadata":{"web_search":1},"avg_logprobs":-1}`,
		event.Event{
			ID: "i", InvocationID: "e-1", Author: "a", Timestamp: 1.5, Branch: "x.y", LongRunningToolIDs: []string{"l"}, Partial: true, TurnComplete: true,
			Interrupted: true, ErrorCode: "c", ErrorMessage: "m", FinishReason: "STOP", ModelVersion: "v",
			CustomMetadata: map[string]json.RawMessage{"my_key": raw(`{"in_ner":1}`)},
			Extra:          map[string]json.RawMessage{"groundingMetadata": raw(`{"web_search":1}`), "avgLogprobs": raw(`-1`)},
		},
	},
	{
		"actions",
		`{"actions":{"stateDelta":{"user:my_name":"x","gone":null},"artifactDelta":{"my_file.png":2},"requestedAuthConfigs":{"call_1":{"auth_scheme":{}}},
		  "requestedToolConfirmations":{"call_2":{"hint":"h"}},"transferToAgent":"other","rewindBeforeInvocationId":"e-0","skipSummarization":true,
		  "escalate":true,"endOfAgent":true,"stateChanges":[{"key":"n_m","increment":1.5},{"key":"l","append":[1,{"a_b":2}]}],"agentState":{"s_t":1},"renderUiWidgets":[]}}`,
		`{"actions":{"state_delta":{"user:my_name":"x","gone":null},"artifact_delta":{"my_file.png":2},"requested_auth_configs":{"call_1":{"auth_scheme":{}}},
		  "requested_tool_confirmations":{"call_2":{"hint":"h"}},"transfer_to_agent":"other","rewind_before_invocation_id":"e-0","skip_summarization":true,
		  "escalate":true,"end_of_agent":true,"state_changes":[{"key":"n_m","increment":1.5},{"key":"l","append":[1,{"a_b":2}]}],"agent_state":{"s_t":1},"render_ui_widgets":[]}}`,
		event.Event{Actions: event.Actions{
			StateDelta:                 map[string]json.RawMessage{"user:my_name": raw(`"x"`), "gone": raw(`null`)},
			ArtifactDelta:              map[string]int64{"my_file.png": 2},
			RequestedAuthConfigs:       map[string]json.RawMessage{"call_1": raw(`{"auth_scheme":{}}`)},
			RequestedToolConfirmations: map[string]json.RawMessage{"call_2": raw(`{"hint":"h"}`)},
			TransferToAgent:            "other", RewindBeforeInvocationID: "e-0", SkipSummarization: true, Escalate: true, EndOfAgent: true,
			StateChanges: []event.StateChange{{Key: "n_m", Increment: "1.5"}, {Key: "l", Append: []json.RawMessage{raw("1"), raw(`{"a_b":2}`)}}},
			Extra:        map[string]json.RawMessage{"agentState": raw(`{"s_t":1}`), "renderUiWidgets": raw(`[]`)},
		}},
	},
	{
		"usage",
		`{"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3,"cachedContentTokenCount":4,"thoughtsTokenCount":5,
		  "toolUsePromptTokenCount":6,"promptTokensDetails":[{"token_count":1}]}}`,
		`{"usage_metadata":{"prompt_token_count":1,"candidates_token_count":2,"total_token_count":3,"cached_content_token_count":4,"thoughts_token_count":5,
		  "tool_use_prompt_token_count":6,"prompt_tokens_details":[{"token_count":1}]}}`,
		event.Event{Usage: &event.Usage{
			Prompt: 1, Candidates: 2, Total: 3, CachedContent: 4, Thoughts: 5, ToolUsePrompt: 6,
			Extra: map[string]json.RawMessage{"promptTokensDetails": raw(`[{"token_count":1}]`)},
		}},
	},
	{
		"content",
		`{"content":{"role":"model","parts":[
		  {"text":"t","thought":true,"thoughtSignature":"AQI="},
		  {"functionCall":{"id":"c","name":"f","args":{"my_arg":1}}},
		  {"functionResponse":{"id":"c","name":"f","response":{"my_result":1},"willContinue":true}},
		  {"inlineData":{"mimeType":"image/png","data":"AQI=","displayName":"d"},"videoMetadata":{"start_offset":"1s"}},
		  {"fileData":{"mimeType":"image/png","fileUri":"gs://x","displayName":"d"}},
		  {"executableCode":{"id":"x","code":"1+1","language":"PYTHON"}},
		  {"codeExecutionResult":{"id":"x","outcome":"OUTCOME_OK","output":"2"}},
		  {"toolCall":{"tool_type":"x"}}]}}`,
		`{"content":{"role":"model","parts":[
		  {"text":"t","thought":true,"thought_signature":"AQI="},
		  {"function_call":{"id":"c","name":"f","args":{"my_arg":1}}},
		  {"function_response":{"id":"c","name":"f","response":{"my_result":1},"will_continue":true}},
		  {"inline_data":{"mime_type":"image/png","data":"AQI=","display_name":"d"},"video_metadata":{"start_offset":"1s"}},
		  {"file_data":{"mime_type":"image/png","file_uri":"gs://x","display_name":"d"}},
		  {"executable_code":{"id":"x","code":"1+1","language":"PYTHON"}},
		  {"code_execution_result":{"id":"x","outcome":"OUTCOME_OK","output":"2"}},
		  {"tool_call":{"tool_type":"x"}}]}}`,
		event.Event{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
			{Text: "t", Thought: true, ThoughtSignature: []byte{1, 2}},
			{FunctionCall: &event.FunctionCall{ID: "c", Name: "f", Args: raw(`{"my_arg":1}`)}},
			{FunctionResponse: &event.FunctionResponse{ID: "c", Name: "f", Response: raw(`{"my_result":1}`), WillContinue: true}},
			{
				InlineData: &event.Blob{MIMEType: "image/png", Data: []byte{1, 2}, DisplayName: "d"},
				Extra:      map[string]json.RawMessage{"videoMetadata": raw(`{"start_offset":"1s"}`)},
			},
			{FileData: &event.FileData{MIMEType: "image/png", FileURI: "gs://x", DisplayName: "d"}},
			{ExecutableCode: &event.ExecutableCode{ID: "x", Code: "1+1", Language: "PYTHON"}},
			{CodeExecutionResult: &event.CodeExecutionResult{ID: "x", Outcome: "OUTCOME_OK", Output: "2"}},
			{Extra: map[string]json.RawMessage{"toolCall": raw(`{"tool_type":"x"}`)}},
		}}},
	},
}

func TestDecodeBothSpellings(t *testing.T) {
	for _, tt := range bothSpellings {
		t.Run(tt.name, func(t *testing.T) {
			for _, doc := range []string{tt.camel, tt.snake} {
				var got event.Event
				if err := json.Unmarshal([]byte(doc), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s\n-want +got:\n%s", doc, diff)
				}
			}
			// Nothing of it gets lost on the way out and back.
			doc, err := tt.want.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var back event.Event
			if err := back.UnmarshalJSON(doc); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, back, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +read back:\n%s", diff)
			}
		})
	}
}

// A field that is added to the types must be added to the table above, and
// thereby to both directions of the codec.
func TestBothSpellingsCoverEveryField(t *testing.T) {
	seen := map[string]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() { //nolint:exhaustive // the others have nothing inside
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for f, field := range v.Fields() {
				name := v.Type().Name() + "." + f.Name
				seen[name] = seen[name] || !field.IsZero()
				walk(field)
			}
		}
	}
	for _, tt := range bothSpellings {
		walk(reflect.ValueOf(tt.want))
	}
	for name, ok := range seen {
		if !ok {
			t.Errorf("%s is in no document", name)
		}
	}
}

// Members that are passed on have to be known by the name they go out with.
func TestExtraNamesAreCamelCaseAndSorted(t *testing.T) {
	for _, names := range [][]string{passthrough.Event(), passthrough.Actions(), passthrough.Usage(), passthrough.Part()} {
		for i, name := range names {
			if strings.Contains(name, "_") || i > 0 && names[i-1] >= name {
				t.Errorf("%s in %v", name, names)
			}
		}
	}
}

func TestDecodeNullIsAbsence(t *testing.T) {
	const doc = `{"id":null,"invocationId":null,"author":null,"timestamp":null,"branch":null,"longRunningToolIds":null,"partial":null,
		"turn_complete":null,"interrupted":null,"errorCode":null,"errorMessage":null,"finish_reason":null,"modelVersion":null,
		"usageMetadata":{"promptTokenCount":null,"trafficType":null},"customMetadata":null,"output":null,
		"actions":{"stateDelta":null,"artifactDelta":null,"requested_auth_configs":null,"requestedToolConfirmations":null,"transferToAgent":null,
			"rewindBeforeInvocationId":null,"skipSummarization":null,"escalate":null,"endOfAgent":null,"compaction":null},
		"content":{"role":null,"parts":[
			{"text":"","functionCall":null,"function_response":null,"inlineData":null,"fileData":null,"executableCode":null,"codeExecutionResult":null,
				"toolCall":null,"thought":null,"thoughtSignature":null,"videoMetadata":null},
			{"text":null,"functionCall":{"id":null,"name":null,"args":null}},
			{"functionResponse":{"id":null,"name":null,"response":null,"willContinue":null}},
			{"inlineData":{"mimeType":null,"data":null,"displayName":null}},
			{"fileData":{"mimeType":null,"fileUri":null,"displayName":null}},
			{"executableCode":{"id":null,"code":null,"language":null}},
			{"codeExecutionResult":{"id":null,"outcome":null,"output":null}}]}}`
	want := event.Event{Usage: &event.Usage{}, Content: &event.Content{Parts: []*event.Part{
		{},
		{FunctionCall: &event.FunctionCall{}},
		{FunctionResponse: &event.FunctionResponse{}},
		{InlineData: &event.Blob{}},
		{FileData: &event.FileData{}},
		{ExecutableCode: &event.ExecutableCode{}},
		{CodeExecutionResult: &event.CodeExecutionResult{}},
	}}}
	var got event.Event
	if err := json.Unmarshal([]byte(doc), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got = *answer()
	if err := json.Unmarshal([]byte(`{"content":null,"actions":null,"usageMetadata":null}`), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(event.Event{}, got); diff != "" {
		t.Errorf("what was there before shows: -want +got:\n%s", diff)
	}
}

func TestDecodeIgnoresUnknown(t *testing.T) {
	const x = `"x":{"text":1,"y":[{"id":5}]},"id_":1,"_id":1,"ID":1,`
	const doc = `{` + x + `"id":"i","usageMetadata":{` + x + `"totalTokenCount":1},"actions":{` + x + `"escalate":true},"content":{` + x + `"parts":[
		{` + x + `"text":"t"},
		{"functionCall":{` + x + `"id":"c"}},
		{"functionResponse":{` + x + `"id":"c"}},
		{"inlineData":{` + x + `"mimeType":"m"}},
		{"fileData":{` + x + `"fileUri":"u"}},
		{"executableCode":{` + x + `"code":"c"}},
		{"codeExecutionResult":{` + x + `"output":"o"}}]}}`
	want := event.Event{ID: "i", Usage: &event.Usage{Total: 1}, Actions: event.Actions{Escalate: true}, Content: &event.Content{Parts: []*event.Part{
		{Text: "t"},
		{FunctionCall: &event.FunctionCall{ID: "c"}},
		{FunctionResponse: &event.FunctionResponse{ID: "c"}},
		{InlineData: &event.Blob{MIMEType: "m"}},
		{FileData: &event.FileData{FileURI: "u"}},
		{ExecutableCode: &event.ExecutableCode{Code: "c"}},
		{CodeExecutionResult: &event.CodeExecutionResult{Output: "o"}},
	}}}
	var got event.Event
	if err := json.Unmarshal([]byte(doc), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// decodePart reads a part that is the only one of a content.
func decodePart(t *testing.T, doc string) *event.Part {
	t.Helper()
	var c event.Content
	if err := json.Unmarshal([]byte(`{"parts":[`+doc+`]}`), &c); err != nil {
		t.Fatal(err)
	}
	return c.Parts[0]
}

func TestDecodeBase64(t *testing.T) {
	for _, data := range []string{"", "a", "ab", "abc", "\xfb\xff", "\xfb\xff\xfe", "\x00"} {
		for name, enc := range map[string]*base64.Encoding{
			"standard": base64.StdEncoding, "standard, no padding": base64.RawStdEncoding,
			"URL": base64.URLEncoding, "URL, no padding": base64.RawURLEncoding,
		} {
			s := strconv.Quote(enc.EncodeToString([]byte(data)))
			p := decodePart(t, `{"inlineData":{"data":`+s+`},"thoughtSignature":`+s+`}`)
			if string(p.InlineData.Data) != data || string(p.ThoughtSignature) != data {
				t.Errorf("%s %s: got %q and %q, want %q", name, s, p.InlineData.Data, p.ThoughtSignature, data)
			}
		}
	}
}

func TestDecodeFunctionResponse(t *testing.T) {
	deep, _ := json.Marshal(nest(9_999))
	for _, tt := range []struct{ name, in, want string }{
		{"object", `{ "a" : 1.0 }`, `{"a":1.0}`},
		{"empty object", `{}`, `{}`},
		{"serialized object", `"{ \"a\": [1.0, \"\\ud83d\"] }"`, `{"a":[1.0,"\ud83d"]}`},
		{"serialized object in white space", `"\n {\"a\":1}\n"`, `{"a":1}`},
		{"text", `"sunny"`, `{"result":"sunny"}`},
		{"text of white space", `" sunny\n"`, `{"result":" sunny\n"}`},
		{"empty text", `""`, `{"result":""}`},
		{"almost an object", `"{a:1}"`, `{"result":"{a:1}"}`},
		{"two objects", `"{} {}"`, `{"result":"{} {}"}`},
		{"serialized array", `"[1]"`, `{"result":"[1]"}`},
		{"number", `12345678901234567890`, `{"result":12345678901234567890}`},
		{"array", `[1, {"a":null}]`, `{"result":[1,{"a":null}]}`},
		{"boolean", `false`, `{"result":false}`},
		// As an object it would be too deep for clients.
		{"serialized, too deep", string(deep), `{"result":` + string(deep) + `}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := decodePart(t, `{"functionResponse":{"name":"f","response":`+tt.in+`}}`)
			if got := string(p.FunctionResponse.Response); got != tt.want {
				t.Fatalf("got %.100s, want %.100s", got, tt.want)
			}
			doc, err := (&event.Event{Content: &event.Content{Parts: []*event.Part{p}}}).MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			checkStable(t, doc, new(event.Event))
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	const payload = "exactly one payload"
	tests := []struct {
		name, doc string
		path      []any
		msg       string // a part of it
	}{
		{"no payload", `{"content":{"parts":[{"text":"a"},{}]}}`, []any{"content", "parts", 1}, payload},
		{"only null", `{"content":{"parts":[{"text":null}]}}`, []any{"content", "parts", 0}, payload},
		{"only modifiers", `{"content":{"parts":[{"thought":true,"videoMetadata":{}}]}}`, []any{"content", "parts", 0}, payload},
		{"two payloads", `{"content":{"parts":[{"text":"","functionCall":{"name":"f"}}]}}`, []any{"content", "parts", 0}, payload},
		{"two spellings", `{"content":{"parts":[{"functionCall":{},"function_call":{}}]}}`, []any{"content", "parts", 0}, payload},
		{"one that is passed on", `{"content":{"parts":[{"text":"a","toolCall":{}}]}}`, []any{"content", "parts", 0}, payload},

		{"event", `[]`, nil, "object"},
		{"null", `null`, nil, "object"},
		{"id", `{"id":1}`, []any{"id"}, "string"},
		{"timestamp", `{"timestamp":"now"}`, []any{"timestamp"}, "number"},
		{"partial", `{"partial":"true"}`, []any{"partial"}, "true or false"},
		{"ids", `{"long_running_tool_ids":["a",1]}`, []any{"long_running_tool_ids", 1}, "string"},
		{"ids as the object of a serialized set", `{"longRunningToolIds":{}}`, []any{"longRunningToolIds"}, "array"},
		{"metadata", `{"customMetadata":[]}`, []any{"customMetadata"}, "object"},
		{"usage", `{"usageMetadata":{"totalTokenCount":1.5}}`, []any{"usageMetadata", "totalTokenCount"}, "whole number"},
		{"actions", `{"actions":[]}`, []any{"actions"}, "object"},
		{"state", `{"actions":{"state_delta":"x"}}`, []any{"actions", "state_delta"}, "object"},
		{"artifact", `{"actions":{"artifactDelta":{"a_b":"1"}}}`, []any{"actions", "artifactDelta", "a_b"}, "number"},
		{"artifact named like a position", `{"actions":{"artifactDelta":{"0":null}}}`, []any{"actions", "artifactDelta", "0"}, "number"},
		{"content", `{"content":"hi"}`, []any{"content"}, "object"},
		{"parts", `{"content":{"parts":{}}}`, []any{"content", "parts"}, "array"},
		{"first part", `{"content":{"parts":["hi"]}}`, []any{"content", "parts", 0}, "object"},
		{"later part", `{"content":{"parts":[{"text":"a"},null]}}`, []any{"content", "parts", 1}, "object"},
		{"text", `{"content":{"parts":[{"text":["a"]}]}}`, []any{"content", "parts", 0, "text"}, "string"},
		{"args", `{"content":{"parts":[{"functionCall":{"args":"{}"}}]}}`, []any{"content", "parts", 0, "functionCall", "args"}, "object"},
		{"name", `{"content":{"parts":[{"function_response":{"name":1}}]}}`, []any{"content", "parts", 0, "function_response", "name"}, "string"},
		{"base64", `{"content":{"parts":[{"inlineData":{"data":"a*"}}]}}`, []any{"content", "parts", 0, "inlineData", "data"}, "base64"},
		{"mixed alphabets", `{"content":{"parts":[{"text":"","thoughtSignature":"+_"}]}}`, []any{"content", "parts", 0, "thoughtSignature"}, "base64"},
		{"one character of base64", `{"content":{"parts":[{"text":"","thoughtSignature":"A"}]}}`, []any{"content", "parts", 0, "thoughtSignature"}, "base64"},

		{"truncated", `{"content":{"parts":[{"text":"a`, nil, "unexpected EOF"},
		{"trailing data", `{"id":"a"}{"id":"b"}`, nil, "after the JSON value"},
		{"not UTF-8", "{\"id\":\"\xff\"}", nil, "UTF-8"},
		{"too deep", `{"actions":{"stateDelta":{"a":` + nest(20_000) + `}}}`, nil, "depth"},
		{"too deep and unknown", `{"x":` + nest(20_000) + `}`, nil, "depth"},
		{"too deep and never closed", strings.Repeat(`{"content":`, 20_000), nil, "depth"},
		{"too deep to be sent on", `{"actions":{"stateDelta":{"a":` + nest(9_500) + `}}}`, []any{"actions", "stateDelta", "a"}, "deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Not json.Unmarshal, which looks at the syntax before we do.
			err := new(event.Event).UnmarshalJSON([]byte(tt.doc))
			e, ok := errors.AsType[*wire.Error](err)
			if !ok {
				t.Fatalf("got %v, want a *wire.Error", err)
			}
			if diff := cmp.Diff(tt.path, e.Path); diff != "" {
				t.Errorf("path: -want +got:\n%s", diff)
			}
			if !strings.Contains(e.Msg, tt.msg) {
				t.Errorf("got %q, want …%s…", e.Msg, tt.msg)
			}
		})
	}
}

func TestDecodeExtremes(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	quoted := strconv.Quote(long)
	tests := []struct {
		name, value string // a JSON value
		text        string // as a text, when it is a string
	}{
		{"lone high surrogate", `"a\ud83d"`, "a\uFFFD"},
		{"lone low surrogate", `"\ude00b"`, "\uFFFDb"},
		{"surrogates the wrong way round", `"\ude00\ud83d"`, "\uFFFD\uFFFD"},
		{"escaped emoji", `"\ud83d\ude00"`, "😀"},
		{"emoji", `"👩‍👩‍👧🇨🇭"`, "👩‍👩‍👧🇨🇭"},
		{"NUL", `"\u0000"`, "\x00"},
		{"line separators", "\"\u2028\u2029\u0085\"", "\u2028\u2029\u0085"},
		{"1 MiB", quoted, long},
		{"5,000 levels", nest(5_000), ""},
		{"9,000 levels", nest(9_000), ""},
		{"big number", `123456789012345678901234567890.1200e-5`, ""},
		{"duplicate names", `{"a":1,"a":2}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got event.Event
			if err := got.UnmarshalJSON([]byte(`{"actions":{"stateDelta":{"k":` + tt.value + `}}}`)); err != nil {
				t.Fatal(err)
			}
			if v := got.Actions.StateDelta["k"]; string(v) != tt.value {
				t.Errorf("state: got %.100s, want %.100s", v, tt.value)
			}
			if strings.HasPrefix(tt.value, `"`) {
				p := decodePart(t, `{"text":`+tt.value+`}`)
				if p.Text != tt.text {
					t.Errorf("text: got %.100q, want %.100q", p.Text, tt.text)
				}
				got.Content = &event.Content{Parts: []*event.Part{p}}
			}
			doc, err := got.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			checkStable(t, doc, new(event.Event))
		})
	}
}
