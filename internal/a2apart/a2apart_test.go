package a2apart_test

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/a2apart"
)

func TestParts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ ours, theirs string }{
		"text":     {`{"text":"hi"}`, `{"text":"hi"}`},
		"thought":  {`{"text":"hm","thought":true}`, `{"text":"hm","metadata":{"adk_thought":true}}`},
		"data":     {`{"inlineData":{"mimeType":"image/png","data":"AQI=","displayName":"a.png"}}`, `{"raw":"AQI=","filename":"a.png","mediaType":"image/png"}`},
		"file":     {`{"fileData":{"mimeType":"image/png","fileUri":"gs://b/a.png"}}`, `{"url":"gs://b/a.png","mediaType":"image/png"}`},
		"call":     {`{"functionCall":{"id":"1","name":"f","args":{"a":1}}}`, `{"data":{"args":{"a":1},"id":"1","name":"f"},"metadata":{"adk_type":"function_call"}}`},
		"response": {`{"functionResponse":{"id":"1","name":"f","response":{"a":1}}}`, `{"data":{"id":"1","name":"f","response":{"a":1}},"metadata":{"adk_type":"function_response"}}`},
		"code":     {`{"executableCode":{"language":"PYTHON","code":"1"}}`, `{"data":{"code":"1","language":"PYTHON"},"metadata":{"adk_type":"executable_code"}}`},
		"result":   {`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}`, `{"data":{"outcome":"OUTCOME_OK","output":"1"},"metadata":{"adk_type":"code_execution_result"}}`},
		"question": {`{"functionCall":{"id":"long","name":"f","args":{}}}`, `{"data":{"args":{},"id":"long","name":"f"},"metadata":{"adk_is_long_running":true,"adk_type":"function_call"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p event.Part
			if err := p.UnmarshalJSON([]byte(test.ours)); err != nil {
				t.Fatal(err)
			}
			parts, err := a2apart.Encode([]*event.Part{&p}, []string{"long"})
			if err != nil {
				t.Fatal(err)
			}
			doc, err := json.Marshal(parts[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, test.theirs), decoded(t, string(doc))); diff != "" {
				t.Errorf("encoded (-want +got):\n%s", diff)
			}
			back, longRunning, err := a2apart.Decode(parts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&p, back[0]); diff != "" {
				t.Errorf("decoded again (-want +got):\n%s", diff)
			}
			if (len(longRunning) == 1) != (name == "question") {
				t.Errorf("the calls that wait are %q", longRunning)
			}
		})
	}
}

func decoded(t *testing.T, doc string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDecodeData(t *testing.T) {
	t.Parallel()
	list, _, err := a2apart.Decode(a2a.ContentParts{a2a.NewDataPart(map[string]any{"a": 1}), nil})
	if err != nil || len(list) != 1 || list[0].Text != `{"a":1}` {
		t.Errorf("data without a type: %+v, %v", list, err)
	}
	bad := a2a.NewDataPart("no object")
	bad.SetMeta(a2apart.Type, "function_call")
	if _, _, err := a2apart.Decode(a2a.ContentParts{bad}); err == nil {
		t.Error("a call that is not an object is accepted")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`[{"text":"hi","metadata":{"adk_thought":true}},{"data":{"id":"1","name":"f","args":{}},"metadata":{"adk_type":"function_call","adk_is_long_running":true}}]`))
	f.Add([]byte(`[{"raw":"AQI=","mediaType":"image/png"},{"url":"https://x"},{"data":[1]}]`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var parts a2a.ContentParts
		if json.Unmarshal(doc, &parts) != nil {
			return
		}
		list, _, err := a2apart.Decode(parts)
		if err != nil {
			return
		}
		if _, err := (&event.Content{Parts: list}).MarshalJSON(); err != nil {
			t.Fatalf("the content cannot be encoded: %v", err)
		}
	})
}
