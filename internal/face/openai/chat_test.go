package openai_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

func (s *site) chat(body string, headers ...string) object {
	s.t.Helper()
	return s.do(200, "POST", "/v1/chat/completions", body, headers...)
}

// joined returns what the chunks of a stream add up to, and why it ended.
func joined(t *testing.T, chunks []string) (content, thought, calls, finish string, usage any) {
	t.Helper()
	if chunks[len(chunks)-1] != "[DONE]" {
		t.Errorf("the stream does not end: %v", chunks)
	}
	for _, doc := range chunks[:len(chunks)-1] {
		var c object
		if err := json.Unmarshal([]byte(doc), &c); err != nil {
			t.Fatal(err)
		}
		content += c.text("choices", 0, "delta", "content")
		thought += c.text("choices", 0, "delta", "reasoning_content")
		calls += c.text("choices", 0, "delta", "tool_calls", 0, "function", "name") + c.text("choices", 0, "delta", "tool_calls", 0, "function", "arguments")
		finish += c.text("choices", 0, "finish_reason")
		if u := c.at("usage"); u != nil {
			usage = u
		}
		if c.text("error", "message") != "" {
			finish += "error: " + c.text("error", "message")
		}
	}
	return content, thought, calls, finish, usage
}

const chatLights = `[{"type":"function","function":{"name":"lights","parameters":{"type":"object"}}}]`

func TestChat(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, test := range []struct{ name, body, content, thought, calls, finish string }{
		{"text", `{"model":"weather","messages":[{"role":"user","content":"hello"}]}`, "You said: hello", "", "", "stop"},
		{"system", `{"model":"weather","messages":[{"role":"system","content":"Be brief. "},{"role":"user","content":[{"type":"text","text":"hello"}]}]}`, "You said: Be brief. hello", "", "", "stop"},
		{"image", `{"model":"weather","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]}]}`, "I see 4 bytes of image/png.", "", "", "stop"},
		{"history", `{"model":"weather","messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"hello"}]}`, "You said: hello", "", "", "stop"},
		{"thoughts", `{"model":"weather","messages":[{"role":"user","content":"think"}]}`, "It is done.", "Let me see.", "", "stop"},
		{"tools of the server", `{"model":"weather","messages":[{"role":"user","content":"weather in Rome"}]}`, "It is sunny in Rome.", "", "", "stop"},
		{"tools of the client", `{"model":"weather","messages":[{"role":"user","content":"call lights"}],"tools":` + chatLights + `}`, "", "", `lights{"color":"red"}`, "tool_calls"},
		{
			"the result of a tool", `{"model":"weather","messages":[{"role":"user","content":"call lights"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"lights","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":"done"}],"tools":` + chatLights + `}`, `lights returned {"result":"done"}`, "", "", "stop",
		},
		{"refused", `{"model":"weather","messages":[{"role":"user","content":"errcode"}]}`, "", "", "", "content_filter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &site{t, s.base, s.Fixture}
			whole := s.chat(test.body)
			message := func(path ...any) string {
				return whole.text(append([]any{"choices", 0, "message"}, path...)...)
			}
			calls := message("tool_calls", 0, "function", "name") + message("tool_calls", 0, "function", "arguments")
			if message("content") != test.content || message("reasoning_content") != test.thought || calls != test.calls || whole.text("choices", 0, "finish_reason") != test.finish {
				t.Errorf("%s", mustJSON(t, whole))
			}
			stream := frames(t, s.send("POST", "/v1/chat/completions", strings.Replace(test.body, "{", `{"stream":true,"stream_options":{"include_usage":true},`, 1)).Body, nil)
			content, thought, calls, finish, usage := joined(t, stream)
			if content != test.content || thought != test.thought || calls != test.calls || finish != test.finish || usage == nil {
				t.Errorf("%s", stream)
			}
		})
	}
	t.Run("nothing is left", func(t *testing.T) { //nolint:paralleltest // after one more
		s.chat(`{"model":"relay","messages":[{"role":"user","content":"hello"}]}`)
		resp := s.send("GET", "/apps/relay/users/user/sessions", "")
		if list, err := io.ReadAll(resp.Body); err != nil || string(list) != "[]" {
			t.Errorf("%s %v", list, err)
		}
	})
}

// A session has the conversation, so only the last message of the client is new; and
// questions can be answered.
func TestChatSession(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for name, headers := range map[string][]string{"X-Session-Id": {"X-Session-Id", "h"}, "Open WebUI": {"X-OpenWebUI-Chat-Id", "w"}} {
		s.chat(`{"model":"weather","messages":[{"role":"user","content":"keep k v"}]}`, headers...)
		got := s.chat(`{"model":"weather","messages":[{"role":"user","content":"keep k v"},{"role":"assistant","content":"kept"},{"role":"user","content":"recall k"}]}`, headers...)
		if !strings.Contains(got.text("choices", 0, "message", "content"), `"v"`) {
			t.Errorf("%s: %s", name, mustJSON(t, got))
		}
	}
	const inSession = `"model":"weather","metadata":{"session_id":"m"}`
	asked := s.chat(`{` + inSession + `,"messages":[{"role":"user","content":"danger users"}]}`)
	call := asked.text("choices", 0, "message", "tool_calls", 0, "id")
	if asked.text("choices", 0, "finish_reason") != "tool_calls" || call == "" {
		t.Fatalf("%s", mustJSON(t, asked))
	}
	done := s.chat(`{` + inSession + `,"messages":[{"role":"user","content":"danger users"},` + mustJSON(t, asked.at("choices", 0, "message")) + `,{"role":"tool","tool_call_id":` + quote(call) + `,"content":"{\"approved\":true}"}]}`)
	if got := done.text("choices", 0, "message", "content"); !strings.Contains(got, `{"deleted":"users"}`) {
		t.Errorf("%s", got)
	}
	text := s.chat(`{"model":"weather","messages":[{"role":"user","content":"danger users"}]}`)
	if got := text.text("choices", 0, "message", "content"); !strings.Contains(got, "X-Session-Id") || text.text("choices", 0, "finish_reason") != "stop" {
		t.Errorf("%s", mustJSON(t, text))
	}
}

func TestChatErrors(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for body, status := range map[string]int{
		`{"model":"nothing","messages":[{"role":"user","content":"hello"}]}`: 404,
		`{"model":"weather","messages":[]}`:                                  400,
		`{"model":"weather","messages":[{"role":"other","content":"x"}]}`:    400,
		`{"model":"weather","messages":[{"role":"user","content":"fail"}]}`:  500,
	} {
		if got := s.do(status, "POST", "/v1/chat/completions", body); got.text("error", "message") == "" {
			t.Errorf("%s: %v", body, got)
		}
	}
	resp := s.send("POST", "/v1/chat/completions", `{"model":"weather","messages":[{"role":"user","content":"fail"}]}`)
	if resp.Header.Get("X-Should-Retry") != "false" {
		t.Error("the client would start another run")
	}
	_, _, _, finish, _ := joined(t, frames(t, s.send("POST", "/v1/chat/completions", `{"model":"weather","stream":true,"messages":[{"role":"user","content":"stutter"}]}`).Body, nil))
	if !strings.HasPrefix(finish, "error: ") {
		t.Errorf("%s", finish)
	}
}
