package agui

import (
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/session"
)

// messages returns the conversation of a session as the protocol has it.
func messages(s *session.Session) []byte {
	dst := []byte{'['}
	add := func(list ...string) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '{'), members(list...)...), '}')
	}
	for _, entry := range s.Seen() {
		ev, err := entry.Decode()
		if err != nil || ev.Content == nil {
			continue
		}
		for _, r := range ev.FunctionResponses() {
			if face.QuestionOf(&event.FunctionCall{ID: r.ID, Name: r.Name}) != nil || agentrt.Unmade(ev, r) || ev.Author != event.User && r.Interim() {
				continue
			}
			add(member("id", ev.ID+"-"+r.ID), `"role":"tool"`, member("toolCallId", r.ID), member("content", string(r.Response)))
		}
		text := ev.Content.Text()
		if ev.Author == event.User {
			if text != "" {
				add(member("id", ev.ID), `"role":"user"`, member("content", text))
			}
			continue
		}
		var calls []string
		for _, call := range ev.FunctionCalls() {
			if face.QuestionOf(call) != nil {
				continue
			}
			args := string(call.Args)
			if args == "" {
				args = "{}"
			}
			calls = append(calls, "{"+members(member("id", call.ID), `"type":"function"`, `"function":{`+members(member("name", call.Name), member("arguments", args))+"}")+"}")
		}
		parent, made := face.CallsID(ev), ""
		if len(calls) > 0 {
			made = `"toolCalls":[` + strings.Join(calls, ",") + "]"
		}
		for _, span := range face.Spans(ev) {
			role, more := "assistant", ""
			if span.Thought {
				role = "reasoning"
			} else if span.ID == parent {
				more, made = made, ""
			}
			add(member("id", span.ID), member("role", role), member("content", span.Text), more)
		}
		if made != "" {
			add(member("id", parent), `"role":"assistant"`, made)
		}
	}
	return append(dst, ']')
}
