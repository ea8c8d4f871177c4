package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

const (
	kits = "testdata/kits"
	kit  = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	next = "node_modules/conformance-next/dist/index.js"

	inspector = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
)

// The conformance tests and the inspector of the protocol are satisfied.
func TestKits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it installs packages")
	}
	nodejs.Install(t, kits)
	t.Run("conformance", testConformance)
	t.Run("inspector", testInspector)
}

// The conformance tests of the protocol pass. An application has one tool, so each
// scenario runs on the application that has the name of the tool it calls. Those that
// are not here need what a server of agents does not have: prompts, resources with
// addresses of the kit's, subscriptions to resources, completions, log messages,
// sampling, roots, headers for arguments, streams that a GET resumes, and several tools
// in one server. server-stateless is not here either: it needs tools of its own, and
// waits less than a second for a stream.
func testConformance(t *testing.T) {
	t.Parallel()
	base := listen(t, kitApps(t))
	// The scenarios of all versions, and those that only some have.
	all := map[string]string{
		"tools-list": "weather", "resources-list": "weather", "prompts-list": "weather", "dns-rebinding-protection": "weather",
		"server-sse-multiple-streams": "weather", "tools-call-simple-text": "test_simple_text", "tools-call-image": "test_image_content",
		"tools-call-audio": "test_audio_content", "tools-call-embedded-resource": "test_embedded_resource",
		"tools-call-mixed-content": "test_multiple_content_types", "tools-call-error": "test_error_handling",
		"tools-call-with-progress": "test_tool_with_progress", "json-schema-2020-12": "json_schema_2020_12_tool",
	}
	legacy := map[string]string{
		"server-initialize": "weather", "ping": "weather", "tools-call-elicitation": "test_elicitation",
		"elicitation-sep1034-defaults": "test_elicitation_sep1034_defaults", "elicitation-sep1330-enums": "test_elicitation_sep1330_enums",
	}
	const asks = "test_input_required_result_"
	newest := map[string]string{
		"caching": "weather", "sep-2164-resource-not-found": "weather", "http-header-validation": "test_simple_text",
		"input-required-result-basic-elicitation": asks + "elicitation", "input-required-result-request-state": asks + "request_state",
		"input-required-result-multi-round": asks + "multi_round", "input-required-result-missing-input-response": asks + "elicitation",
		"input-required-result-result-type": asks + "elicitation", "input-required-result-unsupported-methods": "weather",
		"input-required-result-tampered-state": asks + "tampered_state", "input-required-result-validate-input": asks + "elicitation",
		"tasks-wire-fields": "slow_compute", "tasks-request-state-removal": "slow_compute", "tasks-capability-negotiation": "slow_compute",
	}
	for _, tt := range []struct {
		name, program string
		options       []string
		scenarios     []map[string]string
	}{
		{"0.1.16", kit, nil, []map[string]string{all, legacy}},
		{"0.2.0 " + older, next, []string{"--timeout", "600000", "--spec-version", older}, []map[string]string{all, legacy, {"server-session-lifecycle": "weather"}}},
		{"0.2.0 " + modern, next, []string{"--timeout", "600000", "--spec-version", modern}, []map[string]string{all, newest}},
	} {
		for _, scenarios := range tt.scenarios {
			for scenario, app := range scenarios {
				t.Run(tt.name+"/"+scenario, func(t *testing.T) {
					t.Parallel()
					args := append([]string{"--import", "./glob.js", tt.program, "server", "--url", base + "/apps/" + app + "/mcp", "--scenario", scenario}, tt.options...)
					if strings.HasPrefix(scenario, "tasks-") { // an extension has no version
						args = args[:len(args)-2]
					}
					cmd := exec.CommandContext(t.Context(), nodejs.Node(t), args...)
					cmd.Dir = kits
					out, err := cmd.CombinedOutput()
					passed := totals.FindString(string(out))
					if err != nil || !strings.Contains(passed, " 0 failed, 0 warnings") || strings.HasPrefix(passed, "Passed: 0/") {
						t.Errorf("%v\n%s", err, out)
					}
					t.Log(passed)
				})
			}
		}
	}
}

// The command line of the inspector lists what there is, and calls the tool, in both
// kinds of versions.
func testInspector(t *testing.T) {
	t.Parallel()
	base := listen(t, testkit.NewFixture().Apps())
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			inspect := func(method string, args ...string) (result any) {
				t.Helper()
				args = append([]string{inspector, "--cli", base + "/apps/weather/mcp", "--transport", "http", "--protocol-era", era, "--method", method}, args...)
				cmd := exec.CommandContext(t.Context(), nodejs.Node(t), args...)
				cmd.Dir, cmd.Env = kits, append(cmd.Environ(), "HOME="+t.TempDir())
				out, err := cmd.Output()
				if err == nil {
					err = json.Unmarshal(out, &result)
				}
				if failed, ok := errors.AsType[*exec.ExitError](err); ok {
					out = append(out, failed.Stderr...)
				}
				if err != nil {
					t.Fatalf("%s: %v\n%s", method, err, out)
				}
				return result
			}
			if got := inspect("tools/list", "--strict"); at(got, "tools", "0", "name") != "weather" {
				t.Error(got)
			}
			if got := inspect("prompts/list"); len(at(got, "prompts").([]any)) > 0 {
				t.Error(got)
			}
			call := func(message string, args ...string) any {
				t.Helper()
				return inspect("tools/call", append([]string{"--tool-name", "weather", "--tool-arg", "message=" + message}, args...)...)
			}
			got := call("art " + era + ".txt hello")
			id, _ := at(got, "structuredContent", "session").(string)
			if got := call("weather in Oslo", "session="+id); at(got, "content", "0", "text") != "It is sunny in Oslo." || at(got, "structuredContent", "session") != id {
				t.Error(got)
			}
			uri := "artifact:///" + id + "/" + era + ".txt"
			list, _ := json.Marshal(inspect("resources/list"))
			if !strings.Contains(string(list), `"`+uri+`"`) {
				t.Errorf("%s is not in %s", uri, list)
			}
			if got := inspect("resources/read", "--uri", uri); at(got, "contents", "0", "text") != "hello" {
				t.Error(got)
			}
			if got := inspect("resources/templates/list"); at(got, "resourceTemplates", "0", "uriTemplate") == nil {
				t.Error(got)
			}
		})
	}
}

var totals = regexp.MustCompile(`Passed: \d+/\d+, \d+ failed, \d+ warnings`)

// listen serves applications at an address of this machine, so that requests under
// another name are refused.
func listen(t *testing.T, apps map[string]*agent.Agent) string {
	t.Helper()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: apps})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		srv.Close(context.Background())
	})
	return "http://" + listener.Addr().String()
}

// kitApps returns the applications that stand for the tools of the conformance tests.
func kitApps(t *testing.T) map[string]*agent.Agent {
	t.Helper()
	apps := map[string]*agent.Agent{"weather": testkit.WeatherApp()}
	add := func(name, schema string, answer scripted.Step) {
		a, err := agent.NewLLM(agent.LLMConfig{Name: "agent", InputSchema: json.RawMessage(schema), Model: scripted.Func(answer), Tools: []tool.Tool{tool.RequestInput()}})
		if err != nil {
			t.Fatal(err)
		}
		apps[name] = a
	}
	const nothing = `{"type":"object"}`
	says := func(name string, parts ...*event.Part) {
		add(name, nothing, scripted.Respond(&model.Response{Content: &event.Content{Role: event.RoleModel, Parts: parts}, FinishReason: "STOP"}))
	}
	file := func(kind, data string) *event.Part {
		return &event.Part{InlineData: &event.Blob{MIMEType: kind, Data: []byte(data)}}
	}
	words := &event.Part{Text: "These are several parts:"}
	add("test_simple_text", nothing, scripted.Say("This is a simple text response for testing."))
	says("test_image_content", file("image/png", "png"))
	says("test_audio_content", file("audio/wav", "wav"))
	says("test_embedded_resource", file("text/plain", "This is an embedded resource content."))
	says("test_multiple_content_types", words, file("image/png", "png"), file("application/json", `{"test":"data"}`))
	add("test_error_handling", nothing, scripted.Fail(errors.New("This tool intentionally returns an error for testing")))
	add("test_tool_with_progress", nothing, scripted.Say("one two three four"))
	add("json_schema_2020_12_tool", schema2020, scripted.Say("Done."))
	add("slow_compute", `{"type":"object","properties":{"seconds":{"type":"number"}}}`, slow)

	// asks asks the questions one after the other, and then ends with a text that has
	// the last answer.
	asks := func(name, end string, questions ...string) {
		add(name, nothing, func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			answered, last := 0, ""
			for _, c := range req.Contents() {
				for _, p := range c.Parts {
					if p.FunctionResponse != nil {
						answered, last = answered+1, string(p.FunctionResponse.Response)
					}
				}
			}
			if answered == len(questions) {
				return scripted.Say(end+" "+last)(ctx, req)
			}
			return scripted.Calls(&event.FunctionCall{
				ID: []string{"user_name", "color"}[answered], Name: tool.InputCall, // the kit expects the first id
				Args: json.RawMessage(`{"message":"Please answer","responseSchema":{"type":"object","properties":` + questions[answered] + `}}`),
			})(ctx, req)
		})
	}
	const name, confirm, required = `{"name":{"type":"string"}}`, `{"ok":{"type":"boolean"}}`, "test_input_required_result_"
	asks("test_elicitation", "User response:", `{"username":{"type":"string"},"email":{"type":"string"}}`)
	asks("test_elicitation_sep1034_defaults", "Elicitation completed:", defaults)
	asks("test_elicitation_sep1330_enums", "Elicitation completed:", enums)
	asks(required+"elicitation", "Hello,", name)
	asks(required+"request_state", "state-ok", confirm)
	asks(required+"tampered_state", "ok", confirm)
	asks(required+"multi_round", "Done:", name, `{"color":{"type":"string"}}`)
	return apps
}

// slow answers at once, or not at all if it is to take long: the kit waits a few seconds
// for the end of a short task, and does not wait for the end of a long one.
func slow(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	var in struct{ Seconds float64 }
	_ = json.Unmarshal([]byte(scripted.LastUserText(req)), &in) // 0 is good
	answer := scripted.Say("Computed.")
	if in.Seconds > 1 {
		answer = scripted.Wait(nil, answer)
	}
	return answer(ctx, req)
}

const (
	schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string"},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`
	defaults = `{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}`
	enums = `{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2"],"enumNames":["Option One","Option Two"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"}]}}}`
)
