package conformance

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/testkit"
)

// weatherTurn is what brief says of the turn that "weather" leads to.
var weatherTurn = []string{"weather_agent: get_weather?", "weather_agent: get_weather!", "weather_agent: It is sunny in Oslo."}

func TestC21_Run(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	req := s.request("What is the weather in Oslo?")
	r := s.Do(t, http.MethodPost, "/run", req).Want(t, http.StatusOK)
	var got []Event
	r.Into(t, &got)
	wantBrief(t, got, weatherTurn...)

	call, response, text := got[0], got[1], got[2]
	if call.Content.Role != "model" || response.Content.Role != "user" || text.Content.Role != "model" {
		t.Errorf("roles %s, %s, %s", call.Content.Role, response.Content.Role, text.Content.Role)
	}
	id := call.call(t).ID
	if diff := cmp.Diff(&FunctionCall{ID: id, Name: "get_weather", Args: object{"city": "Oslo"}}, call.call(t)); diff != "" || id == "" {
		t.Errorf("call (-want +got):\n%s", diff)
	}
	want := &FunctionResponse{ID: id, Name: "get_weather", Response: object{"status": "success", "report": "It is sunny in Oslo."}}
	if diff := cmp.Diff(want, response.Content.Parts[0].FunctionResponse); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if call.LongRunningToolIDs == nil || len(call.LongRunningToolIDs) != 0 || response.LongRunningToolIDs != nil {
		t.Errorf("longRunningToolIds %v, %v", call.LongRunningToolIDs, response.LongRunningToolIDs)
	}
	if text.Partial == nil || *text.Partial || !text.TurnComplete || call.TurnComplete || response.TurnComplete {
		t.Errorf("partial and turnComplete: %+v", got)
	}
	run := got[0].InvocationID
	if !*peer { // the header is Parley's own
		run = r.Header.Get("X-Parley-Run")
	}
	if !strings.HasPrefix(run, "e-") {
		t.Errorf("run id %q", run)
	}
	for i, e := range got {
		if e.InvocationID != run || e.Timestamp >= 1e10 || e.Timestamp < got[max(i-1, 0)].Timestamp {
			t.Errorf("event %d: %+v", i, e)
		}
	}

	history := s.get(t).Events
	wantBrief(t, history[:1], "user: What is the weather in Oslo?")
	if diff := cmp.Diff(got, history[1:]); diff != "" {
		t.Errorf("the history is not what was answered (-answered +stored):\n%s", diff)
	}
	if u := history[0]; u.InvocationID != run || u.Timestamp > call.Timestamp {
		t.Errorf("the message's event: %+v", u)
	}
}

func TestC22_RunInSnakeCase(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	head := `{"app_name":"weather","user_id":"` + s.User + `","session_id":"s1",`
	got := s.run(t, head+`"new_message":{"parts":[{"text":"weather in Oslo"}]}}`, testkit.Odd)
	wantBrief(t, got, weatherTurn...)

	s.run(t, head+`"state_delta":{"my_key":{"in_ner":1}},"custom_metadata":{"a_b":2},"function_call_event_id":"x","invocation_id":null,
		"new_message":{"role":"user","parts":[{"inline_data":{"mime_type":"image/png","display_name":"p","data":"_-8"}}]}}`, testkit.Odd)
	history := s.get(t)
	e := history.Events[4]
	if diff := cmp.Diff(object{"mimeType": "image/png", "displayName": "p", "data": "/+8="}, e.Content.Parts[0].InlineData); diff != "" {
		t.Errorf("inlineData (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(object{"my_key": object{"in_ner": 1.0}}, history.State); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	for _, e := range history.Events[4:] {
		if diff := cmp.Diff(object{"a_b": 2.0}, e.CustomMetadata); diff != "" {
			t.Errorf("customMetadata (-want +got):\n%s", diff)
		}
	}
	wantBrief(t, history.Events[5:], "weather_agent: I see 2 bytes of image/png.")

	call := s.run(t, head+`"new_message":{"parts":[{"text":"long"}]}}`, testkit.Odd)[0].call(t)
	got = s.run(t, head+`"new_message":{"parts":[{"function_response":{"id":"`+call.ID+`","name":"ask_approval",
		"will_continue":true,"response":{"my_key":1}}}]}}`, testkit.Odd)
	wantBrief(t, got, `weather_agent: ask_approval returned {"my_key":1}`)
}

func TestC24_UnknownMembersAreIgnored(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	req := with(s.request(object{"text": "hello", "colour": "red"}), "foo", object{"bar": []int{1}})
	req["newMessage"].(object)["lang"] = "en"
	wantBrief(t, s.run(t, req), "weather_agent: You said: hello")
}

func TestC75_LargeImage(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("PNG"), 5<<20/3+1))
	got := s.say(t, "What is this?", object{"inlineData": object{"mimeType": "image/png", "data": image}})
	wantBrief(t, got, "weather_agent: I see 5242881 bytes of image/png.")
	if stored := s.get(t).Events[0].Content.Parts[1].InlineData["data"]; stored != image {
		t.Error("the image was changed")
	}
}

func TestParallelCalls(t *testing.T) {
	t.Parallel()
	s := begin(t, "weather")
	got := s.say(t, "pair")
	wantBrief(t, got, "weather_agent: meet? meet?", "weather_agent: meet! meet!",
		`weather_agent: meet returned {"seat":1} meet returned {"seat":2}`)
	for i, p := range got[0].Content.Parts {
		if r := got[1].Content.Parts[i].FunctionResponse; r.ID != p.FunctionCall.ID {
			t.Errorf("response %d answers %s, want %s", i, r.ID, p.FunctionCall.ID)
		}
	}
}

// Only a text that ends the turn has turnComplete.
func TestTurnComplete(t *testing.T) {
	t.Parallel()
	s := begin(t, "relay")
	got := s.say(t, "hello")
	wantBrief(t, got, "reporter: You said: hello", "reviewer: I approve.")
	if got[0].TurnComplete || !got[1].TurnComplete {
		t.Errorf("turnComplete %v, %v", got[0].TurnComplete, got[1].TurnComplete)
	}
}
