package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// kitApps returns the applications that stand for the tools of the conformance tests.
// What takes long waits at the gate.
func kitApps(t *testing.T, g *gate) map[string]*agent.Agent {
	t.Helper()
	apps := map[string]*agent.Agent{}
	later := func(*tool.Context, struct{}) (any, error) { return nil, nil }
	tools := []tool.Tool{tool.RequestInput()}
	for _, name := range []string{"mcp_create_message", "mcp_list_roots"} {
		tools = append(tools, tool.Must(tool.New(tool.Declaration{Name: name, Description: "Asks the client.", LongRunning: true}, later)))
	}
	add := func(name, schema string, answer scripted.Step) {
		a, err := agent.NewLLM(agent.LLMConfig{Name: "agent", InputSchema: json.RawMessage(schema), Model: scripted.Func(answer), Tools: tools})
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
	add(mainApp, nothing, scripted.Say("This is a simple text response for testing."))
	says("test_image_content", file("image/png", "png"))
	says("test_audio_content", file("audio/wav", "wav"))
	says("test_embedded_resource", file("text/plain", "This is an embedded resource content."))
	says("test_multiple_content_types", words, file("image/png", "png"), file("application/json", `{"test":"data"}`))
	add("test_error_handling", nothing, scripted.Fail(errors.New("This tool intentionally returns an error for testing")))
	add("test_tool_with_progress", nothing, scripted.Say("one two three four"))
	add("test_logging_tool", nothing, scripted.Say("Nothing is logged."))
	add(reconnection, nothing, g.first(scripted.Say("Connected.")))
	add("json_schema_2020_12_tool", schema2020, scripted.Say("Done."))
	add("test_header", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}`, scripted.Say("Done."))
	add("greet", `{"type":"object","properties":{"name":{"type":"string"}}}`, greets)
	add("slow_compute", `{"type":"object","properties":{"seconds":{"type":"number"}}}`, g.computes)
	add("failing_job", nothing, g.first(scripted.Fail(errors.New("The job failed."))))
	add("protocol_error_job", nothing, g.first(func(context.Context, *model.Request) iter.Seq2[*model.Response, error] { panic("the job broke") }))

	ask := func(id, properties string) *event.FunctionCall {
		return &event.FunctionCall{ID: id, Name: tool.InputCall, Args: json.RawMessage(`{"message":"Please answer","responseSchema":{"type":"object","properties":` + properties + `}}`)}
	}
	sample := &event.FunctionCall{ID: "capital", Name: "mcp_create_message", Args: json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"What is the capital of France?"}}],"maxTokens":100}`)}
	roots := &event.FunctionCall{ID: "roots", Name: "mcp_list_roots", Args: json.RawMessage(`{}`)}
	const name, confirm, color = `{"name":{"type":"string"}}`, `{"ok":{"type":"boolean"}}`, `{"color":{"type":"string"}}`
	type rounds = [][]*event.FunctionCall
	for name, one := range map[string]struct {
		end    string
		rounds rounds
	}{
		"test_elicitation":                  {"User response:", rounds{{ask("user", `{"username":{"type":"string"},"email":{"type":"string"}}`)}}},
		"test_elicitation_sep1034_defaults": {"Elicitation completed:", rounds{{ask("defaults", defaults)}}},
		"test_elicitation_sep1330_enums":    {"Elicitation completed:", rounds{{ask("enums", enums)}}},
		"test_streaming_elicitation":        {"Done:", rounds{{ask("ok", confirm)}}},
		"test_sampling":                     {"LLM response:", rounds{{sample}}},
		"test_missing_capability":           {"Done:", rounds{{sample}}},

		required + "elicitation":     {"Hello,", rounds{{ask("user_name", name)}}}, // the kit expects this id
		required + "sampling":        {"Answer:", rounds{{sample}}},
		required + "list_roots":      {"Roots:", rounds{{roots}}},
		required + "capabilities":    {"Answer:", rounds{{sample}}},
		required + "multiple_inputs": {"Done:", rounds{{ask("user_name", name), sample, roots}}},
		required + "request_state":   {"state-ok", rounds{{ask("ok", confirm)}}},
		required + "tampered_state":  {"ok", rounds{{ask("ok", confirm)}}},
		required + "multi_round":     {"Done:", rounds{{ask("name", name)}, {ask("color", color)}}},
	} {
		add(name, nothing, asks(one.end, one.rounds...))
	}
	both := []*event.FunctionCall{ask("one", name), ask("two", name)}
	add("confirm_delete", nothing, g.first(asks("Deleted:", []*event.FunctionCall{ask("confirm", confirm)})))
	add("multi_input", nothing, g.first(asks("Done:", both)))
	add("test_tool_with_task", nothing, g.last(asks("Hello,", []*event.FunctionCall{ask("user_name", name)})))
	return apps
}

// mainApp is the application that answers what is not a call of a tool.
const mainApp, required = "test_simple_text", "test_input_required_result_"

// reconnection is the application whose stream is cut.
const reconnection = "test_reconnection"

// asks makes the calls of one round after the other, and then ends with a text that has
// the last answer.
func asks(end string, rounds ...[]*event.FunctionCall) scripted.Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		count, last := answers(req)
		for _, calls := range rounds {
			if count < len(calls) {
				return scripted.Calls(calls...)(ctx, req)
			}
			count -= len(calls)
		}
		return scripted.Say(end+" "+last)(ctx, req)
	}
}

// answers returns how many answers a model has, and the last one.
func answers(req *model.Request) (count int, last string) {
	for _, c := range req.Contents() {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				count, last = count+1, string(p.FunctionResponse.Response)
			}
		}
	}
	return count, last
}

func greets(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	var in struct{ Name string }
	_ = json.Unmarshal([]byte(scripted.LastUserText(req)), &in)
	return scripted.Say("Hello, "+in.Name+"!")(ctx, req)
}

// computes answers at once, or not at all if it is to take long.
func (g *gate) computes(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	var in struct{ Seconds float64 }
	_ = json.Unmarshal([]byte(scripted.LastUserText(req)), &in) // 0 is good
	answer := scripted.Say("Computed.")
	switch {
	case in.Seconds >= 10:
		return g.wait(nil, answer)(ctx, req)
	case in.Seconds > 0:
		return g.wait(g.asked(), answer)(ctx, req)
	}
	return answer(ctx, req)
}

// first has a model wait at the gate before its first answer, and last after it has
// answers of the client.
func (g *gate) first(answer scripted.Step) scripted.Step { return g.when(false, answer) }
func (g *gate) last(answer scripted.Step) scripted.Step  { return g.when(true, answer) }

func (g *gate) when(answered bool, answer scripted.Step) scripted.Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if count, _ := answers(req); count > 0 == answered {
			return g.wait(g.asked(), answer)(ctx, req)
		}
		return answer(ctx, req)
	}
}

// wait has a model wait until a channel is closed; a nil one never is.
func (g *gate) wait(until <-chan struct{}, answer scripted.Step) scripted.Step {
	return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			g.enter()
			select {
			case <-until:
				g.leave()
				answer(ctx, req)(yield)
			case <-ctx.Done():
				g.leave()
				yield(nil, ctx.Err())
			}
		}
	}
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
