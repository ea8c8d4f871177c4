package event_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/passthrough"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// call, response and answer are the events of a typical turn.
func call() *event.Event {
	return &event.Event{
		ID: "2btee6zw", InvocationID: "e-71353f1e", Author: "weather_agent", Timestamp: 1743712220.385936,
		Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{
			ID: "call-1", Name: "get_weather", Args: raw(`{"city":"new york"}`),
		}}}},
	}
}

func response() *event.Event {
	return &event.Event{
		ID: "pmwibl2m", InvocationID: "e-71353f1e", Author: "weather_agent", Timestamp: 1743712221.895042,
		Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{
			ID: "call-1", Name: "get_weather", Response: raw(`{"status":"success","report":"sunny"}`),
		}}}},
		Actions: event.Actions{StateDelta: map[string]json.RawMessage{"last_city": raw(`"new york"`)}},
	}
}

func answer() *event.Event {
	return &event.Event{
		ID: "syt42evc", InvocationID: "e-71353f1e", Author: "weather_agent", Timestamp: 1743712221.899018,
		Content:      event.Text(event.RoleModel, "It is sunny in New York: 25 °C.\n"),
		TurnComplete: true, FinishReason: "STOP",
		Usage: &event.Usage{Prompt: 120, Candidates: 9, Total: 129},
	}
}

const (
	head      = `"id":"","invocationId":"","author":"","timestamp":0`
	noActions = `"actions":{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{}}`
)

// TestEncode holds the exact bytes: clients read them, and logs keep them.
func TestEncode(t *testing.T) {
	tests := []struct {
		name string
		in   *event.Event
		want string
	}{
		{"function call", call(), `{"id":"2btee6zw","invocationId":"e-71353f1e","author":"weather_agent","timestamp":1743712220.385936,` +
			`"content":{"role":"model","parts":[{"functionCall":{"id":"call-1","name":"get_weather","args":{"city":"new york"}}}]},` +
			noActions + `,"longRunningToolIds":[]}`},
		{"function response", response(), `{"id":"pmwibl2m","invocationId":"e-71353f1e","author":"weather_agent","timestamp":1743712221.895042,` +
			`"content":{"role":"user","parts":[{"functionResponse":{"id":"call-1","name":"get_weather","response":{"status":"success","report":"sunny"}}}]},` +
			`"actions":{"stateDelta":{"last_city":"new york"},"artifactDelta":{},"requestedAuthConfigs":{}}}`},
		{"final text", answer(), `{"id":"syt42evc","invocationId":"e-71353f1e","author":"weather_agent","timestamp":1743712221.899018,` +
			`"content":{"role":"model","parts":[{"text":"It is sunny in New York: 25 °C.\n"}]},` + noActions +
			`,"partial":false,"turnComplete":true,"finishReason":"STOP",` +
			`"usageMetadata":{"promptTokenCount":120,"candidatesTokenCount":9,"totalTokenCount":129}}`},
		{
			"partial chunk", &event.Event{Content: event.Text(event.RoleModel, "Sun"), Partial: true},
			`{` + head + `,"content":{"role":"model","parts":[{"text":"Sun"}]},` + noActions + `,"partial":true}`,
		},
		{
			"error", &event.Event{ErrorCode: "SAFETY", ErrorMessage: "refused", Interrupted: true},
			`{` + head + `,` + noActions + `,"interrupted":true,"errorCode":"SAFETY","errorMessage":"refused"}`,
		},
		{"zero", &event.Event{}, `{` + head + `,` + noActions + `}`},
		{"only actions", &event.Event{Branch: "root.sub", Actions: event.Actions{
			StateDelta:           map[string]json.RawMessage{"b": raw(`1`), "a": nil, "": raw(`"x"`), "B": raw(`[]`)},
			ArtifactDelta:        map[string]int64{"z.png": math.MaxInt64, "a.png": 0},
			RequestedAuthConfigs: map[string]json.RawMessage{"call-2": raw(`{}`), "call-1": raw(`{}`)},
			TransferToAgent:      "other", SkipSummarization: true, Escalate: true, EndOfAgent: true,
		}}, `{` + head + `,"branch":"root.sub","actions":{"stateDelta":{"":"x","B":[],"a":null,"b":1},"artifactDelta":{"a.png":0,"z.png":9223372036854775807},` +
			`"requestedAuthConfigs":{"call-1":{},"call-2":{}},"transferToAgent":"other","skipSummarization":true,"escalate":true,"endOfAgent":true}}`},
		{
			"user message", &event.Event{Author: event.User, Content: event.Text(event.RoleUser, "")},
			`{"id":"","invocationId":"","author":"user","timestamp":0,"content":{"role":"user","parts":[{"text":""}]},` + noActions + `}`,
		},
		{
			"arrays are never null", &event.Event{Content: &event.Content{}},
			`{` + head + `,"content":{"parts":[]},` + noActions + `}`,
		},
		{"objects are never null", &event.Event{Content: &event.Content{Parts: []*event.Part{
			{FunctionCall: &event.FunctionCall{Name: "f"}},
			{FunctionCall: &event.FunctionCall{Name: "f", Args: raw(`null`)}},
			{FunctionResponse: &event.FunctionResponse{Name: "f"}},
			{InlineData: &event.Blob{}},
		}}, LongRunningToolIDs: []string{"a", "b"}}, `{` + head + `,"content":{"parts":[{"functionCall":{"name":"f","args":{}}},` +
			`{"functionCall":{"name":"f","args":{}}},{"functionResponse":{"name":"f","response":{}}},{"inlineData":{"data":""}}]},` +
			noActions + `,"longRunningToolIds":["a","b"]}`},
		{"members passed on", &event.Event{Extra: map[string]json.RawMessage{
			"output": raw(`[1]`), "avgLogprobs": raw(`-0.5`), "nodeInfo": nil, "interactionId": raw(`null`), "notInTheContract": raw(`1`),
		}}, `{` + head + `,` + noActions + `,"avgLogprobs":-0.5,"output":[1]}`},
		{"raw values on one line", &event.Event{
			Content: &event.Content{Parts: []*event.Part{
				{FunctionCall: &event.FunctionCall{Name: "f", Args: raw("{\r\n\t\"a\" : [ 1.0 ,\n2 ]\n}\n")}},
				{Extra: map[string]json.RawMessage{"toolCall": raw("{\n}")}},
			}},
			CustomMetadata: map[string]json.RawMessage{"m": raw("\n\"\\u00e9\\n\"\n")},
		}, `{` + head + `,"content":{"parts":[{"functionCall":{"name":"f","args":{"a":[1.0,2]}}},{"toolCall":{}}]},` + noActions +
			`,"longRunningToolIds":[],"customMetadata":{"m":"\u00e9\n"}}`},
		{
			"hostile strings", &event.Event{ID: "\x00\"\\\n\u2028</script>😀", Author: "\xff"},
			`{"id":"\u0000\"\\\n` + "\u2028" + `</script>😀","invocationId":"","author":"` + "\uFFFD" + `","timestamp":0,` + noActions + `}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.in.AppendJSON([]byte("data: "))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("data: "+tt.want, string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			// The same by way of encoding/json, which has a say of its own: it
			// escapes HTML and checks the result.
			std, err := json.Marshal(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			var escaped bytes.Buffer
			json.HTMLEscape(&escaped, []byte(tt.want))
			if diff := cmp.Diff(escaped.String(), string(std)); diff != "" {
				t.Errorf("json.Marshal: -want +got:\n%s", diff)
			}
		})
	}
}

func TestEncodeErrors(t *testing.T) {
	bad := map[string]json.RawMessage{"k": raw(`{"a":`)}
	part := func(p event.Part) *event.Event {
		return &event.Event{Content: &event.Content{Parts: []*event.Part{{Text: "fine"}, &p}}}
	}
	tests := []struct {
		name, where string
		in          *event.Event
	}{
		{"state", "k", &event.Event{Actions: event.Actions{StateDelta: bad}}},
		{"auth config", "k", &event.Event{Actions: event.Actions{RequestedAuthConfigs: bad}}},
		{"confirmation", "k", &event.Event{Actions: event.Actions{RequestedToolConfirmations: bad}}},
		{"metadata", "k", &event.Event{CustomMetadata: bad}},
		{"extra", "output", &event.Event{Extra: map[string]json.RawMessage{"output": raw(`undefined`)}}},
		{"extra action", "route", &event.Event{Actions: event.Actions{Extra: map[string]json.RawMessage{"route": raw(`,`)}}}},
		{"extra usage", "trafficType", &event.Event{Usage: &event.Usage{Extra: map[string]json.RawMessage{"trafficType": raw(`'x'`)}}}},
		{"extra part", "partMetadata", part(event.Part{Extra: map[string]json.RawMessage{"partMetadata": raw(`{}{}`)}})},
		{"args", "args", part(event.Part{FunctionCall: &event.FunctionCall{Args: raw(`{} x`)}})},
		{"response", "response", part(event.Part{FunctionResponse: &event.FunctionResponse{Response: raw(" ")}})},
		{"not UTF-8", "args", part(event.Part{FunctionCall: &event.FunctionCall{Args: raw("{\"a\":\"\xff\"}")}})},
		{"too deep", "args", part(event.Part{FunctionCall: &event.FunctionCall{Args: raw(nest(9_999))}})},
		{"timestamp", "timestamp", &event.Event{Timestamp: math.NaN()}},
		{"infinity", "timestamp", &event.Event{Timestamp: math.Inf(-1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.in.AppendJSON([]byte("kept"))
			if err == nil || !strings.HasPrefix(err.Error(), "encode event: "+tt.where+": ") {
				t.Errorf("got error %v, want one at %s", err, tt.where)
			}
			if string(got) != "kept" {
				t.Errorf("got %q, want dst as it was", got)
			}
		})
	}
}

// Contents and parts travel on their own too: in requests, and as artifacts.
func TestEncodeContentAndPart(t *testing.T) {
	for want, v := range map[string]any{
		`{"role":"user","parts":[{"text":"hi"}]}`:                           event.Text(event.RoleUser, "hi"),
		`{"text":"hi","thought":true,"thoughtSignature":"+/8="}`:            &event.Part{Text: "hi", Thought: true, ThoughtSignature: []byte{0xfb, 0xff}},
		`{"inlineData":{"mimeType":"a/b","data":"+/8=","displayName":"c"}}`: &event.Part{InlineData: &event.Blob{MIMEType: "a/b", Data: []byte{0xfb, 0xff}, DisplayName: "c"}},
	} {
		got, err := json.Marshal(v)
		if err != nil || string(got) != want {
			t.Errorf("got %s and %v, want %s", got, err, want)
		}
	}
	bad := &event.Part{FunctionCall: &event.FunctionCall{Args: raw(`{`)}}
	for _, v := range []json.Marshaler{bad, &event.Content{Parts: []*event.Part{bad}}} {
		if got, err := v.MarshalJSON(); err == nil {
			t.Errorf("got %s, want an error", got)
		}
	}
}

// The mirror of the event types, as one would write them for encoding/json.
type (
	mirrorEvent struct {
		ID                 string                     `json:"id"`
		InvocationID       string                     `json:"invocationId"`
		Author             string                     `json:"author"`
		Timestamp          float64                    `json:"timestamp"`
		Branch             string                     `json:"branch,omitempty"`
		Content            any                        `json:"content,omitempty"`
		Actions            any                        `json:"actions"`
		LongRunningToolIDs *[]string                  `json:"longRunningToolIds,omitempty"`
		Partial            *bool                      `json:"partial,omitempty"`
		TurnComplete       bool                       `json:"turnComplete,omitempty"`
		Interrupted        bool                       `json:"interrupted,omitempty"`
		ErrorCode          string                     `json:"errorCode,omitempty"`
		ErrorMessage       string                     `json:"errorMessage,omitempty"`
		FinishReason       string                     `json:"finishReason,omitempty"`
		ModelVersion       string                     `json:"modelVersion,omitempty"`
		Usage              any                        `json:"usageMetadata,omitempty"`
		CustomMetadata     map[string]json.RawMessage `json:"customMetadata,omitempty"`
	}
	mirrorActions struct {
		StateDelta                 map[string]json.RawMessage `json:"stateDelta"`
		ArtifactDelta              map[string]int64           `json:"artifactDelta"`
		RequestedAuthConfigs       map[string]json.RawMessage `json:"requestedAuthConfigs"`
		RequestedToolConfirmations map[string]json.RawMessage `json:"requestedToolConfirmations,omitempty"`
		TransferToAgent            string                     `json:"transferToAgent,omitempty"`
		RewindBeforeInvocationID   string                     `json:"rewindBeforeInvocationId,omitempty"`
		SkipSummarization          bool                       `json:"skipSummarization,omitempty"`
		Escalate                   bool                       `json:"escalate,omitempty"`
		EndOfAgent                 bool                       `json:"endOfAgent,omitempty"`
	}
	mirrorUsage struct {
		Prompt        int64 `json:"promptTokenCount,omitempty"`
		Candidates    int64 `json:"candidatesTokenCount,omitempty"`
		Total         int64 `json:"totalTokenCount,omitempty"`
		CachedContent int64 `json:"cachedContentTokenCount,omitempty"`
		Thoughts      int64 `json:"thoughtsTokenCount,omitempty"`
		ToolUsePrompt int64 `json:"toolUsePromptTokenCount,omitempty"`
	}
	mirrorContent struct {
		Role  string `json:"role,omitempty"`
		Parts []any  `json:"parts"`
	}
	mirrorPart struct {
		Text                *string                    `json:"text,omitempty"`
		FunctionCall        *mirrorCall                `json:"functionCall,omitempty"`
		FunctionResponse    *mirrorResponse            `json:"functionResponse,omitempty"`
		InlineData          *mirrorBlob                `json:"inlineData,omitempty"`
		FileData            *mirrorFileData            `json:"fileData,omitempty"`
		ExecutableCode      *mirrorExecutableCode      `json:"executableCode,omitempty"`
		CodeExecutionResult *mirrorCodeExecutionResult `json:"codeExecutionResult,omitempty"`
		Thought             bool                       `json:"thought,omitempty"`
		ThoughtSignature    []byte                     `json:"thoughtSignature,omitempty"`
	}
	mirrorCall struct {
		ID   string          `json:"id,omitempty"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	mirrorResponse struct {
		ID           string          `json:"id,omitempty"`
		Name         string          `json:"name"`
		Response     json.RawMessage `json:"response"`
		WillContinue bool            `json:"willContinue,omitempty"`
	}
	mirrorBlob struct {
		MIMEType    string `json:"mimeType,omitempty"`
		Data        []byte `json:"data"`
		DisplayName string `json:"displayName,omitempty"`
	}
	mirrorFileData struct {
		MIMEType    string `json:"mimeType,omitempty"`
		FileURI     string `json:"fileUri"`
		DisplayName string `json:"displayName,omitempty"`
	}
	mirrorExecutableCode struct {
		ID       string `json:"id,omitempty"`
		Code     string `json:"code"`
		Language string `json:"language,omitempty"`
	}
	mirrorCodeExecutionResult struct {
		ID      string `json:"id,omitempty"`
		Outcome string `json:"outcome"`
		Output  string `json:"output,omitempty"`
	}
)

// mirror is what encoding/json makes of e, decoded again.
func mirror(t *rapid.T, e *event.Event) any {
	m := mirrorEvent{
		ID: e.ID, InvocationID: e.InvocationID, Author: e.Author, Timestamp: e.Timestamp, Branch: e.Branch,
		TurnComplete: e.TurnComplete, Interrupted: e.Interrupted, ErrorCode: e.ErrorCode, ErrorMessage: e.ErrorMessage,
		FinishReason: e.FinishReason, ModelVersion: e.ModelVersion, CustomMetadata: e.CustomMetadata,
	}
	a := mirrorActions{
		StateDelta: orEmpty(e.Actions.StateDelta), ArtifactDelta: orEmpty(e.Actions.ArtifactDelta),
		RequestedAuthConfigs: orEmpty(e.Actions.RequestedAuthConfigs), RequestedToolConfirmations: e.Actions.RequestedToolConfirmations,
		TransferToAgent: e.Actions.TransferToAgent, RewindBeforeInvocationID: e.Actions.RewindBeforeInvocationID,
		SkipSummarization: e.Actions.SkipSummarization, Escalate: e.Actions.Escalate, EndOfAgent: e.Actions.EndOfAgent,
	}
	m.Actions = reflected(t, a, e.Actions.Extra)
	if u := e.Usage; u != nil {
		m.Usage = reflected(t, mirrorUsage{u.Prompt, u.Candidates, u.Total, u.CachedContent, u.Thoughts, u.ToolUsePrompt}, u.Extra)
	}
	calls, answers := false, false
	if c := e.Content; c != nil {
		mc := mirrorContent{Role: c.Role, Parts: []any{}}
		speech, text := c.Role == "model", false
		for _, p := range c.Parts {
			mp := mirrorPart{Thought: p.Thought, ThoughtSignature: p.ThoughtSignature}
			switch {
			case p.FunctionCall != nil:
				mp.FunctionCall = &mirrorCall{p.FunctionCall.ID, p.FunctionCall.Name, object(p.FunctionCall.Args)}
				calls, speech = true, false
			case p.FunctionResponse != nil:
				r := p.FunctionResponse
				mp.FunctionResponse = &mirrorResponse{r.ID, r.Name, object(r.Response), r.WillContinue}
				speech = false
			case p.InlineData != nil:
				mp.InlineData = &mirrorBlob{p.InlineData.MIMEType, append([]byte{}, p.InlineData.Data...), p.InlineData.DisplayName}
			case p.FileData != nil:
				mp.FileData = (*mirrorFileData)(p.FileData)
			case p.ExecutableCode != nil:
				mp.ExecutableCode = (*mirrorExecutableCode)(p.ExecutableCode)
			case p.CodeExecutionResult != nil:
				mp.CodeExecutionResult = (*mirrorCodeExecutionResult)(p.CodeExecutionResult)
			case p.Extra["toolCall"] == nil && p.Extra["toolResponse"] == nil:
				mp.Text, text = &p.Text, true
			}
			mc.Parts = append(mc.Parts, reflected(t, mp, p.Extra))
		}
		m.Content, answers = mc, speech && text
	}
	if calls || e.LongRunningToolIDs != nil {
		ids := append([]string{}, e.LongRunningToolIDs...)
		m.LongRunningToolIDs = &ids
	}
	if e.Partial || answers {
		m.Partial = &e.Partial
	}
	return reflected(t, m, e.Extra)
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

func object(v json.RawMessage) json.RawMessage {
	if v == nil {
		return raw(`{}`)
	}
	return v
}

// reflected is v as encoding/json sees it, with the extra members beside.
func reflected(t *rapid.T, v any, extra map[string]json.RawMessage) any {
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	m := decodeAny(t, doc).(map[string]any)
	for name, v := range extra {
		m[name] = decodeAny(t, v)
	}
	return m
}

func decodeAny(t *rapid.T, doc []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber() // 2^53 + 1 must differ from 2^53
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return v
}

// Generators. Zero values are as likely as others, since "left out when zero"
// is most of what the encoding decides.
var (
	anyText = rapid.OneOf(
		rapid.Just(""), rapid.String(),
		rapid.SampledFrom([]string{"a", "user:name", "snake_case", "\x00\n\r\u2028", "😀", "<&>", "{", "\xff\xc0", "\xed\xa0\xbd"}),
	)
	anyCount = rapid.OneOf(rapid.Just[int64](0), rapid.Int64())
	anyBytes = rapid.OneOf(rapid.Just[[]byte](nil), rapid.SliceOf(rapid.Byte()))
	anyJSON  = rapid.Custom(func(t *rapid.T) json.RawMessage {
		var b strings.Builder
		writeJSON(t, &b, 3)
		return raw(b.String())
	})
	anyObject = rapid.Custom(func(t *rapid.T) json.RawMessage {
		if rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return slices.Concat(raw("{\n\"a\" : "), anyJSON.Draw(t, "member"), raw(" }"))
	})
	anyMap = rapid.OneOf(rapid.Just[map[string]json.RawMessage](nil), rapid.MapOfN(validText, anyJSON, 0, 4))
	// Two broken keys could turn into the same one.
	validText = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "user:name", "snake_case"}))
)

func writeJSON(t *rapid.T, b *strings.Builder, depth int) {
	space := func() { b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n", "\r\n\t"}).Draw(t, "space")) }
	space()
	defer space()
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth == 0 {
		kind = min(kind, 5)
	}
	switch kind {
	case 6, 7:
		b.WriteByte("[{"[kind-6])
		for i := range rapid.IntRange(0, 3).Draw(t, "length") {
			if i > 0 {
				b.WriteByte(',')
			}
			if kind == 7 {
				b.WriteString(`"` + string(rune('a'+i)) + `":`)
			}
			writeJSON(t, b, depth-1)
		}
		b.WriteByte("]}"[kind-6])
	default:
		b.WriteString(rapid.SampledFrom([]string{
			"true", "false", "0", "-0", "1.50", "1E2", "12345678901234567890", "9007199254740993",
			`""`, `"a b"`, `"\u00e9\/\n"`, `"\ud83d\ude00"`, `"{[,:"`, `"\\\""`,
		}).Draw(t, "scalar"))
	}
}

func anyExtra(names []string) *rapid.Generator[map[string]json.RawMessage] {
	return rapid.OneOf(rapid.Just[map[string]json.RawMessage](nil), rapid.MapOfN(rapid.SampledFrom(names), anyJSON, 1, 3))
}

var anyPart = rapid.Custom(func(t *rapid.T) *event.Part {
	text := func(what string) string { return anyText.Draw(t, what) }
	p := &event.Part{
		Thought: rapid.Bool().Draw(t, "thought"), ThoughtSignature: anyBytes.Draw(t, "signature"),
		Extra: anyExtra([]string{"audioTranscription", "mediaResolution", "partMetadata", "videoMetadata"}).Draw(t, "extra"),
	}
	switch rapid.IntRange(0, 8).Draw(t, "payload") {
	case 0, 1:
		p.Text = text("text")
	case 2:
		p.FunctionCall = &event.FunctionCall{ID: text("id"), Name: text("name"), Args: anyObject.Draw(t, "args")}
	case 3:
		p.FunctionResponse = &event.FunctionResponse{
			ID: text("id"), Name: text("name"),
			Response: anyObject.Draw(t, "response"), WillContinue: rapid.Bool().Draw(t, "willContinue"),
		}
	case 4:
		p.InlineData = &event.Blob{MIMEType: text("mime"), Data: anyBytes.Draw(t, "data"), DisplayName: text("display")}
	case 5:
		p.FileData = &event.FileData{MIMEType: text("mime"), FileURI: text("uri"), DisplayName: text("display")}
	case 6:
		p.ExecutableCode = &event.ExecutableCode{ID: text("id"), Code: text("code"), Language: text("language")}
	case 7:
		p.CodeExecutionResult = &event.CodeExecutionResult{ID: text("id"), Outcome: text("outcome"), Output: text("output")}
	case 8:
		p.Extra = map[string]json.RawMessage{rapid.SampledFrom([]string{"toolCall", "toolResponse"}).Draw(t, "tool"): anyJSON.Draw(t, "value")}
	}
	return p
})

var anyEvent = rapid.Custom(func(t *rapid.T) *event.Event {
	text := func(what string) string { return anyText.Draw(t, what) }
	flag := func(what string) bool { return rapid.Bool().Draw(t, what) }
	count := func(what string) int64 { return anyCount.Draw(t, what) }
	e := &event.Event{
		ID: text("id"), InvocationID: text("invocation"), Author: text("author"), Timestamp: rapid.Float64().Draw(t, "timestamp"),
		Branch: text("branch"), Partial: flag("partial"), TurnComplete: flag("turnComplete"), Interrupted: flag("interrupted"),
		ErrorCode: text("errorCode"), ErrorMessage: text("errorMessage"), FinishReason: text("finish"), ModelVersion: text("version"),
		CustomMetadata: anyMap.Draw(t, "metadata"), Extra: anyExtra(passthrough.Event()).Draw(t, "extra"),
		Actions: event.Actions{
			StateDelta: anyMap.Draw(t, "state"), RequestedAuthConfigs: anyMap.Draw(t, "auth"), RequestedToolConfirmations: anyMap.Draw(t, "confirm"),
			ArtifactDelta:   rapid.MapOfN(validText, rapid.Int64(), 0, 3).Draw(t, "artifacts"),
			TransferToAgent: text("transfer"), RewindBeforeInvocationID: text("rewind"),
			SkipSummarization: flag("skip"), Escalate: flag("escalate"), EndOfAgent: flag("end"),
			Extra: anyExtra(passthrough.Actions()).Draw(t, "extraActions"),
		},
		LongRunningToolIDs: rapid.OneOf(rapid.Just[[]string](nil), rapid.SliceOfN(anyText, 0, 3)).Draw(t, "ids"),
	}
	if flag("content") {
		e.Content = &event.Content{
			Role:  rapid.SampledFrom([]string{"", "user", "model", "model", "x"}).Draw(t, "role"),
			Parts: rapid.SliceOfN(anyPart, 0, 4).Draw(t, "parts"),
		}
	}
	if flag("usage") {
		e.Usage = &event.Usage{
			Prompt: count("prompt"), Candidates: count("candidates"), Total: count("total"), CachedContent: count("cached"),
			Thoughts: count("thoughts"), ToolUsePrompt: count("toolUse"), Extra: anyExtra(passthrough.Usage()).Draw(t, "extraUsage"),
		}
	}
	return e
})

func TestEncodeAgreesWithReflection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyEvent.Draw(t, "event")
		doc, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(mirror(t, e), decodeAny(t, doc)); diff != "" {
			t.Fatalf("-encoding/json +got:\n%s", diff)
		}
		checkStable(t, doc, new(event.Event))
	})
}

// checkStable makes sure that doc, which we wrote, is one line that reads back
// as what it was.
func checkStable(t rapid.TB, doc []byte, into codec) {
	t.Helper()
	if !json.Valid(doc) || bytes.ContainsAny(doc, "\r\n") {
		t.Fatalf("not one line of JSON: %q", doc)
	}
	if err := into.UnmarshalJSON(doc); err != nil {
		t.Fatalf("cannot read back: %v in %s", err, doc)
	}
	again, err := into.MarshalJSON()
	if err != nil || !bytes.Equal(doc, again) {
		t.Fatalf("changed on the way (%v):\n%s\n%s", err, doc, again)
	}
}
