package api_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/parley-run/parley/api"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/passthrough"
)

const (
	errorRef       = "#/components/schemas/Error"
	runErrorRef    = "#/components/schemas/RunError"
	openAIErrorRef = "#/components/schemas/OpenAIError"
	a2aErrorRef    = "#/components/schemas/A2AError"
	rpcErrorRef    = "#/components/schemas/JSONRPCError"
)

// load reads the document and checks it, its examples included.
func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	err = doc.Validate(t.Context(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaFormatValidation(),
		openapi3.ProhibitExtensionsWithRef(), openapi3.EnableMultiError())
	if err != nil {
		t.Fatalf("validate: %v", err)
	}
	return doc
}

func schema(t *testing.T, doc *openapi3.T, name string) *openapi3.Schema {
	t.Helper()
	ref := doc.Components.Schemas[name]
	if ref == nil {
		t.Fatalf("no schema %s", name)
	}
	return ref.Value
}

// What clients build on stays. Developers' tools, which come with the UI, may
// change with it; the protocols of other clients are not ours to keep.
func TestRoutes(t *testing.T) {
	doc := load(t)
	others := []string{"development", "evaluation", "sign-in", "other clients"}
	var got []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if !slices.Contains(others, op.Tags[0]) {
				got = append(got, method+" "+path)
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"DELETE /apps/{app}/triggers/{name}",
		"DELETE /apps/{app}/users/{user}/credentials",
		"DELETE /apps/{app}/users/{user}/memory",
		"DELETE /apps/{app}/users/{user}/memory/{memory}",
		"DELETE /apps/{app}/users/{user}/schedules/{schedule}",
		"DELETE /apps/{app}/users/{user}/sessions/{session}",
		"DELETE /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}",
		"DELETE /apps/{app}/users/{user}/sessions/{session}/shares/{share}",
		"DELETE /apps/{app}/webhooks/{webhook}",
		"GET /",
		"GET /apps/{app}/app-info",
		"GET /apps/{app}/failed-deliveries",
		"GET /apps/{app}/feedback",
		"GET /apps/{app}/triggers",
		"GET /apps/{app}/triggers/{name}",
		"GET /apps/{app}/triggers/{name}/deliveries",
		"GET /apps/{app}/users/{user}/credentials",
		"GET /apps/{app}/users/{user}/memory",
		"GET /apps/{app}/users/{user}/schedules",
		"GET /apps/{app}/users/{user}/schedules/{schedule}",
		"GET /apps/{app}/users/{user}/schedules/{schedule}/firings",
		"GET /apps/{app}/users/{user}/search",
		"GET /apps/{app}/users/{user}/sessions",
		"GET /apps/{app}/users/{user}/sessions/{session}",
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts",
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}",
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions",
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions/metadata",
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions/{version}",
		"GET /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}/versions/{version}/metadata",
		"GET /apps/{app}/users/{user}/sessions/{session}/export",
		"GET /apps/{app}/users/{user}/sessions/{session}/feedback",
		"GET /apps/{app}/users/{user}/sessions/{session}/runs",
		"GET /apps/{app}/users/{user}/sessions/{session}/runs/{run}",
		"GET /apps/{app}/users/{user}/sessions/{session}/runs/{run}/events",
		"GET /apps/{app}/users/{user}/sessions/{session}/shares",
		"GET /apps/{app}/webhooks",
		"GET /apps/{app}/webhooks/{webhook}",
		"GET /apps/{app}/webhooks/{webhook}/deliveries",
		"GET /docs",
		"GET /faces",
		"GET /health",
		"GET /healthz",
		"GET /inbox",
		"GET /inbox/link",
		"GET /inbox/{entry}",
		"GET /list-apps",
		"GET /metrics",
		"GET /oauth/callback",
		"GET /oauth/start",
		"GET /openapi.json",
		"GET /prices",
		"GET /readyz",
		"GET /shared/{token}",
		"GET /shared/{token}/conversation",
		"GET /shared/{token}/files/{file}",
		"GET /usage",
		"GET /version",
		"PATCH /apps/{app}/triggers/{name}",
		"PATCH /apps/{app}/users/{user}/memory",
		"PATCH /apps/{app}/users/{user}/memory/{memory}",
		"PATCH /apps/{app}/users/{user}/schedules/{schedule}",
		"PATCH /apps/{app}/users/{user}/sessions/{session}",
		"PATCH /apps/{app}/webhooks/{webhook}",
		"POST /apps/{app}/failed-deliveries/{delivery}/replay",
		"POST /apps/{app}/triggers",
		"POST /apps/{app}/triggers/{name}",
		"POST /apps/{app}/users/{user}/schedules",
		"POST /apps/{app}/users/{user}/schedules/{schedule}/run",
		"POST /apps/{app}/users/{user}/sessions",
		"POST /apps/{app}/users/{user}/sessions/{session}",
		"POST /apps/{app}/users/{user}/sessions/{session}/artifacts",
		"POST /apps/{app}/users/{user}/sessions/{session}/fork",
		"POST /apps/{app}/users/{user}/sessions/{session}/import",
		"POST /apps/{app}/users/{user}/sessions/{session}/rewind",
		"POST /apps/{app}/users/{user}/sessions/{session}/runs",
		"POST /apps/{app}/users/{user}/sessions/{session}/runs/{run}/cancel",
		"POST /apps/{app}/users/{user}/sessions/{session}/runs/{run}/feedback",
		"POST /apps/{app}/users/{user}/sessions/{session}/shares",
		"POST /apps/{app}/webhooks",
		"POST /apps/{app}/webhooks/{webhook}/deliveries/{delivery}/replay",
		"POST /apps/{app}/webhooks/{webhook}/rotate",
		"POST /apps/{app}/webhooks/{webhook}/test",
		"POST /inbox/link",
		"POST /inbox/{entry}/answer",
		"POST /inbox/{entry}/assign",
		"POST /inbox/{entry}/link",
		"POST /oauth/start",
		"POST /run",
		"POST /run_sse",
		"PUT /apps/{app}/users/{user}/sessions/{session}/artifacts/{name}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("routes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOperations(t *testing.T) {
	doc := load(t)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			t.Run(method+" "+path, func(t *testing.T) {
				if op.OperationID == "" {
					t.Error("no operationId")
				}
				if op.Summary == "" {
					t.Error("no summary")
				}
				if len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
					t.Errorf("tags %q: want one of the document's", op.Tags)
				}
				var good, bad int
				for status, ref := range op.Responses.Map() {
					if ref.Value.Headers["X-Request-Id"] == nil {
						t.Errorf("%s: no X-Request-Id", status)
					}
					if strings.HasPrefix(status, "2") {
						good++
						continue
					}
					if status == "default" || strings.HasPrefix(status, "4") {
						bad++
					}
					if strings.HasPrefix(status, "3") {
						good++
						continue
					}
					pages := strings.HasPrefix(path, "/oauth/") || strings.HasPrefix(path, "/dev-ui/signin") || path == "/inbox/link" || path == "/shared/{token}"
					if pages && ref.Value.Content["text/html"] != nil {
						continue // what it says is for people
					}
					if op.Tags[0] == "other clients" && ref.Value.Content["text/plain"] != nil {
						continue // as their clients show it
					}
					want := errorRef
					if op.OperationID == "run" && (status == "409" || status == "500") {
						want = runErrorRef
					}
					if strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/responses") || path == "/readiness" {
						want = openAIErrorRef
					}
					if strings.HasPrefix(path, "/a2a/") || method+path == "POST/" || strings.HasPrefix(path, "/.well-known/agent-card") {
						want = a2aErrorRef
					}
					if strings.HasSuffix(path, "/mcp") || strings.HasPrefix(path, "/.well-known/oauth") {
						want = rpcErrorRef
					}
					body := ref.Value.Content["application/json"]
					if len(ref.Value.Content) != 1 || body == nil || body.Schema == nil || body.Schema.Ref != want {
						t.Errorf("%s: the body is not %s", status, want)
					}
				}
				if good == 0 {
					t.Error("no 2xx response, and no 3xx")
				}
				if bad == 0 {
					t.Error("no error response")
				}
			})
		}
	}
}

// TestClosed makes sure that a private member would be found, and that
// requests may have members that the document does not know.
func TestClosed(t *testing.T) {
	doc := load(t)
	for _, name := range []string{
		"Session", "Event", "EventActions", "UsageMetadata", "Content", "Part", "FunctionCall", "FunctionResponse",
		"Blob", "FileData", "ExecutableCode", "CodeExecutionResult", "StreamError", "Error", "RunError", "ErrorItem",
		"Run", "Usage", "RunFailure", "Resume", "ExportHead",
	} {
		if has := schema(t, doc, name).AdditionalProperties.Has; has == nil || *has {
			t.Errorf("%s is open", name)
		}
	}
	var closed func(path string, ref *openapi3.SchemaRef)
	closed = func(path string, ref *openapi3.SchemaRef) {
		if ref == nil {
			return
		}
		if has := ref.Value.AdditionalProperties.Has; has != nil && !*has {
			t.Errorf("%s is closed", path)
		}
		for name, p := range ref.Value.Properties {
			closed(path+"."+name, p)
		}
		for _, alt := range slices.Concat(ref.Value.AllOf, ref.Value.AnyOf, ref.Value.OneOf) {
			closed(path, alt)
		}
		closed(path+"[]", ref.Value.Items)
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			for _, body := range op.RequestBody.Value.Content {
				closed(op.OperationID, body.Schema)
			}
		}
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// turn is a question about the weather, as the log has it.
func turn() []*event.Event {
	const run, agent = "e-k3v7qzt5mwn2xh4bj6rdyp3fca", "weather_agent"
	return []*event.Event{
		{
			ID: event.NewID(), InvocationID: run, Author: event.User, Timestamp: 1794729660.000731,
			Content: event.Text(event.RoleUser, "What is the weather in Oslo?"),
			Actions: event.Actions{StateDelta: map[string]json.RawMessage{"unit": raw(`"celsius"`), "old": nil}},
		},
		{
			ID: event.NewID(), InvocationID: run, Author: agent, Timestamp: 1794729661.204118,
			Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{
				FunctionCall: &event.FunctionCall{ID: "c1", Name: "get_weather", Args: raw(`{"city":"Oslo","day":null}`)},
			}}},
			FinishReason: "STOP", ModelVersion: "m-1", Usage: &event.Usage{Prompt: 12, Candidates: 3, Total: 15},
		},
		{
			ID: event.NewID(), InvocationID: run, Author: agent, Timestamp: 1794729661.311502,
			Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
				FunctionResponse: &event.FunctionResponse{ID: "c1", Name: "get_weather", Response: raw(`{"status":"success","report":"snow"}`)},
			}}},
		},
		{
			ID: event.NewID(), InvocationID: run, Author: agent, Timestamp: 1794729662.7,
			Content: event.Text(event.RoleModel, "It is "), Partial: true,
		},
		{
			ID: event.NewID(), InvocationID: run, Author: agent, Timestamp: 1794729662,
			Content: event.Text(event.RoleModel, "It is snowing."), TurnComplete: true,
		},
		{
			ID: event.NewID(), InvocationID: run, Author: agent, Timestamp: 1794729663.5,
			ErrorCode: "SAFETY", ErrorMessage: "withheld",
		},
		{
			ID: event.NewID(), InvocationID: ident.Patch(), Author: event.User, Timestamp: 1794729664.5,
			Actions: event.Actions{StateDelta: map[string]json.RawMessage{"unit": raw("null")}},
		},
	}
}

// full has every member that an event can have.
func full() *event.Event {
	object := raw(`{"a":[1,null]}`)
	texts := map[string]json.RawMessage{"k": object}
	return &event.Event{
		ID: "id", InvocationID: "e-1", Author: "a", Timestamp: 1.5, Branch: "root.a",
		Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
			{Text: "hm", Thought: true, ThoughtSignature: []byte{0xfb, 0xff}, Extra: map[string]json.RawMessage{
				"audioTranscription": object, "mediaResolution": object, "partMetadata": object, "videoMetadata": object,
			}},
			{FunctionCall: &event.FunctionCall{ID: "c1", Name: "f"}},
			{FunctionResponse: &event.FunctionResponse{ID: "c1", Name: "f", WillContinue: true}},
			{InlineData: &event.Blob{}},
			{InlineData: &event.Blob{MIMEType: "image/png", Data: []byte{1, 2, 3, 4}, DisplayName: "pic"}},
			{FileData: &event.FileData{MIMEType: "text/plain", FileURI: "gs://b/o", DisplayName: "file"}},
			{ExecutableCode: &event.ExecutableCode{ID: "x", Code: "1", Language: "PYTHON"}},
			{CodeExecutionResult: &event.CodeExecutionResult{ID: "x", Outcome: "OUTCOME_OK", Output: "1"}},
			{Extra: map[string]json.RawMessage{"toolCall": object}},
			{Extra: map[string]json.RawMessage{"toolResponse": object}},
			{},
		}},
		Actions: event.Actions{
			StateDelta: texts, ArtifactDelta: map[string]int64{"f.txt": 0}, RequestedAuthConfigs: texts,
			RequestedToolConfirmations: texts, TransferToAgent: "b", RewindBeforeInvocationID: "e-0",
			SkipSummarization: true, Escalate: true, EndOfAgent: true,
			Extra: map[string]json.RawMessage{
				"agentState": object, "compaction": object, "renderUiWidgets": raw(`[{}]`), "route": raw(`"next"`),
				"setModelResponse": raw(`"s"`),
			},
		},
		LongRunningToolIDs: []string{"c1"}, Partial: true, TurnComplete: true, Interrupted: true,
		ErrorCode: "E", ErrorMessage: "m", FinishReason: "STOP", ModelVersion: "m-1",
		Usage: &event.Usage{
			Prompt: 1, Candidates: 2, Total: 3, CachedContent: 4, Thoughts: 5, ToolUsePrompt: 6,
			Extra: map[string]json.RawMessage{
				"cacheTokensDetails": raw(`[{}]`), "candidatesTokensDetails": raw(`[]`), "promptTokensDetails": raw(`[]`),
				"toolUsePromptTokensDetails": raw(`[]`), "trafficType": raw(`"ON_DEMAND"`),
			},
		},
		CustomMetadata: texts,
		Extra: map[string]json.RawMessage{
			"avgLogprobs": raw("-0.1"), "cacheMetadata": object, "citationMetadata": object, "groundingMetadata": object,
			"inputTranscription": object, "interactionId": raw(`"i"`), "isolationScope": raw(`"s"`), "logprobsResult": object,
			"nodeInfo": object, "output": raw("[null]"), "outputTranscription": object, "turnCompleteReason": raw(`"r"`),
		},
	}
}

// decode encodes v and reads it back as plain maps and slices.
func decode(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEvents(t *testing.T) {
	doc := load(t)
	for _, ev := range append(turn(), full()) {
		for _, name := range []string{"Event", "StreamFrame"} {
			if err := schema(t, doc, name).VisitJSON(decode(t, ev)); err != nil {
				t.Errorf("%s %s: %v", name, ev.ID, err)
			}
		}
	}
}

// TestMembers compares the document with what package event can write, so
// that a member which is added there is not forgotten here.
func TestMembers(t *testing.T) {
	doc := load(t)
	all := decode(t, full())
	content := all["content"].(map[string]any)
	part := map[string]any{}
	for _, p := range content["parts"].([]any) {
		maps.Copy(part, p.(map[string]any))
	}
	for name, tc := range map[string]struct {
		value map[string]any
		extra []string
	}{
		"Event":               {all, passthrough.Event()},
		"EventActions":        {all["actions"].(map[string]any), passthrough.Actions()},
		"UsageMetadata":       {all["usageMetadata"].(map[string]any), passthrough.Usage()},
		"Content":             {content, nil},
		"Part":                {part, passthrough.Part()},
		"FunctionCall":        {part["functionCall"].(map[string]any), nil},
		"FunctionResponse":    {part["functionResponse"].(map[string]any), nil},
		"Blob":                {part["inlineData"].(map[string]any), nil},
		"FileData":            {part["fileData"].(map[string]any), nil},
		"ExecutableCode":      {part["executableCode"].(map[string]any), nil},
		"CodeExecutionResult": {part["codeExecutionResult"].(map[string]any), nil},
	} {
		got := slices.Sorted(maps.Keys(schema(t, doc, name).Properties))
		want := slices.Sorted(maps.Keys(tc.value))
		for _, extra := range tc.extra {
			if !slices.Contains(want, extra) {
				t.Errorf("full() lacks %s of %s", extra, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has the members %q, want %q", name, got, want)
		}
	}
}

func TestEventsRefused(t *testing.T) {
	doc := load(t)
	call := func(m map[string]any) map[string]any {
		return m["content"].(map[string]any)["parts"].([]any)[0].(map[string]any)
	}
	for name, spoil := range map[string]func(m map[string]any){
		"extra member":                func(m map[string]any) { m["sequence"] = 7.0 },
		"extra member of actions":     func(m map[string]any) { m["actions"].(map[string]any)["secret"] = "s" },
		"extra member of content":     func(m map[string]any) { m["content"].(map[string]any)["lang"] = "en" },
		"extra member of a part":      func(m map[string]any) { call(m)["cost"] = 1.0 },
		"extra member of a call":      func(m map[string]any) { call(m)["functionCall"].(map[string]any)["epoch"] = 1.0 },
		"two payloads":                func(m map[string]any) { call(m)["text"] = "hi" },
		"no payload":                  func(m map[string]any) { delete(call(m), "functionCall") },
		"null":                        func(m map[string]any) { m["branch"] = nil },
		"no actions":                  func(m map[string]any) { delete(m, "actions") },
		"no state delta":              func(m map[string]any) { delete(m["actions"].(map[string]any), "stateDelta") },
		"null array":                  func(m map[string]any) { m["longRunningToolIds"] = nil },
		"milliseconds":                func(m map[string]any) { m["timestamp"] = 1794729661204.0 },
		"member that is only ever on": func(m map[string]any) { m["turnComplete"] = false },
		"error of a stream":           func(m map[string]any) { m["error"] = "boom" },
	} {
		t.Run(name, func(t *testing.T) {
			m := decode(t, turn()[1])
			spoil(m)
			for _, name := range []string{"Event", "StreamFrame"} {
				if schema(t, doc, name).VisitJSON(m) == nil {
					t.Errorf("%s accepts it", name)
				}
			}
		})
	}
}

// TestStreamExamples looks into the frames, which are only text to the
// document.
func TestStreamExamples(t *testing.T) {
	doc := load(t)
	follow := doc.Paths.Value("/apps/{app}/users/{user}/sessions/{session}/runs/{run}/events").Get
	for _, tc := range []struct {
		op      *openapi3.Operation
		schemas map[string]string // by the name of the frame
	}{
		{doc.Paths.Value("/run_sse").Post, map[string]string{"": "StreamFrame"}},
		{follow, map[string]string{"": "Event", "end": "Run", "resume": "Resume"}},
	} {
		examples := tc.op.Responses.Value("200").Value.Content["text/event-stream"].Examples
		if len(examples) == 0 {
			t.Fatalf("%s has no examples", tc.op.OperationID)
		}
		for name, ex := range examples {
			frames, event := 0, ""
			for line := range strings.Lines(ex.Value.Value.(string)) {
				if text, ok := strings.CutPrefix(line, "event: "); ok {
					event = strings.TrimSpace(text)
				}
				if text, ok := strings.CutPrefix(line, "data: "); ok {
					visit(t, doc, tc.schemas[event], text)
					frames++
					event = ""
				}
			}
			if frames == 0 {
				t.Errorf("%s has no frames", name)
			}
		}
	}
}

// TestExportExample looks into the lines.
func TestExportExample(t *testing.T) {
	doc := load(t)
	name := "ExportHead"
	for line := range strings.Lines(doc.Components.Examples["Export"].Value.Value.(string)) {
		visit(t, doc, name, line)
		name = "Event"
	}
	if name == "ExportHead" {
		t.Error("the example is empty")
	}
}

// visit checks a JSON text against a schema.
func visit(t *testing.T, doc *openapi3.T, name, text string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if err := schema(t, doc, name).VisitJSON(v); err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
	}
}

// TestResponses checks the document in the way in which the tests of the
// server use it.
func TestResponses(t *testing.T) {
	doc := load(t)
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	t.Cleanup(func() { openapi3filter.UnregisterBodyDecoder("text/event-stream") })

	const (
		sessions  = "/apps/weather/users/u/sessions"
		session   = `{"id":"s","appName":"weather","userId":"u","state":{"k":null},"events":[],"lastUpdateTime":1794729600.25}`
		jsonType  = "application/json; charset=utf-8"
		sseType   = "text/event-stream"
		refused   = `{"error":"e","detail":"e"}`
		unnamed   = `{"error":"e","detail":[{"type":"missing","loc":["body","parts",0],"msg":"Field required","input":null,"ctx":{}}]}`
		oneEvent  = `{"id":"i","invocationId":"e-1","author":"a","timestamp":1,"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{}}}`
		runHeader = "X-Parley-Run: e-1"
		runs      = sessions + "/s/runs"
		run       = `{"id":"e-1","appName":"weather","userId":"u","sessionId":"s","status":"running","createTime":1}`
	)
	for _, tc := range []struct {
		name, method, path string
		status             int
		header             string // one more, beside the request id
		contentType, body  string
		ok                 bool
	}{
		{"session", "GET", sessions + "/s", 200, "", jsonType, session, true},
		{"session with a private member", "GET", sessions + "/s", 200, "", jsonType, strings.Replace(session, `"id"`, `"seq":1,"id"`, 1), false},
		{"list", "GET", sessions + "?pageSize=1", 200, `Link: <?pageToken=x>; rel="next"`, jsonType, "[" + session + "]", true},
		{"list with events", "GET", sessions, 200, "", jsonType, "[" + strings.Replace(session, "[]", "["+oneEvent+"]", 1) + "]", false},
		{"list that is null", "GET", sessions, 200, "", jsonType, "null", false},
		{"deleted", "DELETE", sessions + "/s", 200, "", jsonType, "null", true},
		{"deleted with a body", "DELETE", sessions + "/s", 200, "", jsonType, "{}", false},
		{"deleted with another status", "DELETE", sessions + "/s", 204, "", "", "", false},
		{"text error", "POST", sessions + "/s", 409, "", jsonType, refused, true},
		{"list error", "POST", "/run", 422, "", jsonType, unnamed, true},
		{"error without detail", "POST", "/run", 404, "", jsonType, `{"error":"e"}`, false},
		{"plain text error", "POST", "/run", 404, "", "text/plain", "not found", false},
		{"run", "POST", "/run", 200, runHeader, jsonType, "[" + oneEvent + "]", true},
		{"run without its id", "POST", "/run", 200, "", jsonType, "[" + oneEvent + "]", false},
		{"failed run", "POST", "/run", 500, "", jsonType, `{"error":"e","detail":"e","events":[` + oneEvent + `]}`, true},
		{"cancelled run", "POST", "/run", 409, "", jsonType, `{"error":"e","detail":"e","events":[` + oneEvent + `]}`, true},
		{"run that never began", "POST", "/run", 500, "", jsonType, refused, true},
		{"shutting down", "POST", "/run", 503, "Retry-After: 5", jsonType, refused, true},
		{"stream", "POST", "/run_sse", 200, runHeader, sseType, ": keep-alive\n\ndata: " + oneEvent + "\n\n", true},
		{"empty stream", "POST", "/run_sse", 200, runHeader, sseType + "; charset=utf-8", "", true},
		{"stream with a closing marker", "POST", "/run_sse", 200, runHeader, sseType, "data: " + oneEvent + "\n\ndata: [DONE]\n\n", false},
		{"stream with an event line", "POST", "/run_sse", 200, runHeader, sseType, "event: error\ndata: {}\n\n", false},
		{"stream cut short", "POST", "/run_sse", 200, runHeader, sseType, "data: " + oneEvent + "\n", false},
		{"run object", "GET", runs + "/e-1", 200, "", jsonType, run, true},
		{"run object with a private member", "GET", runs + "/e-1", 200, "", jsonType, strings.Replace(run, `"id"`, `"epoch":1,"id"`, 1), false},
		{"run object in an unknown state", "GET", runs + "/e-1", 200, "", jsonType, strings.Replace(run, "running", "asleep", 1), false},
		{"runs", "GET", runs, 200, "", jsonType, "[" + run + "]", true},
		{"runs that are null", "GET", runs, 200, "", jsonType, "null", false},
		{"accepted without an address", "POST", runs, 202, runHeader, jsonType, run, false},
		{"accepted with 200", "POST", runs, 200, runHeader, jsonType, run, false},
		{"followed", "GET", runs + "/e-1/events", 200, runHeader, sseType, "id: i\ndata: " + oneEvent + "\n\nevent: end\ndata: " + run + "\n\n", true},
		{"followed as JSON", "GET", runs + "/e-1/events", 200, runHeader, jsonType, "[" + oneEvent + "]", true},
		{"followed with another name", "GET", runs + "/e-1/events", 200, runHeader, sseType, "event: error\ndata: {}\n\n", false},
		{"followed after the end", "GET", runs + "/e-1/events", 200, runHeader, sseType, "event: end\ndata: " + run + "\n\n: x\n\n", false},
		{"apps", "GET", "/list-apps?relative_path=./", 200, "", jsonType, `["weather"]`, true},
		{"no apps", "GET", "/list-apps", 200, "", jsonType, `[]`, true},
		{"apps that are null", "GET", "/list-apps", 200, "", jsonType, `null`, false},
		{"health", "GET", "/health", 200, "", jsonType, `{"status":"ok"}`, true},
		{"not ready", "GET", "/readyz", 503, "", jsonType, refused, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := httptest.NewRequestWithContext(t.Context(), tc.method, "http://127.0.0.1:49152"+tc.path, http.NoBody)
			route, params, err := router.FindRoute(req)
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{"X-Request-Id": {"r"}}
			if tc.contentType != "" {
				header.Set("Content-Type", tc.contentType)
			}
			if name, value, ok := strings.Cut(tc.header, ": "); ok {
				header.Set(name, value)
			}
			err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
				RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
				Status:                 tc.status,
				Header:                 header,
				Body:                   io.NopCloser(strings.NewReader(tc.body)),
				Options:                &openapi3filter.Options{IncludeResponseStatus: true},
			})
			if tc.ok && err != nil {
				t.Error(err)
			}
			if !tc.ok && err == nil {
				t.Error("accepted")
			}
		})
	}
}
