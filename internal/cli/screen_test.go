package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/event"
)

func says(author, text string, partial bool) *event.Event {
	return &event.Event{Author: author, Partial: partial, Content: event.Text(event.RoleModel, text)}
}

func does(parts ...*event.Part) *event.Event {
	return &event.Event{Author: "a", Content: &event.Content{Parts: parts}}
}

func TestScreen(t *testing.T) {
	long := json.RawMessage(`"` + strings.Repeat("ä", 300) + `"`)
	for _, test := range []struct {
		name   string
		events []*event.Event
		want   string
	}{
		{"whole", []*event.Event{says("a", "Hello.", false), {Author: "a"}}, "[a]: Hello.\n"},
		{"pieces", []*event.Event{says("a", "Hel", true), says("a", "lo.", true), says("a", "Hello.", false)}, "[a]: Hello.\n"},
		{"pieces are behind", []*event.Event{says("a", "Hel", true), says("a", "Hello.", false)}, "[a]: Hello.\n"},
		{"changed on the way", []*event.Event{says("a", "Hel", true), says("a", "Good bye.", false)}, "[a]: Hel\n[a]: Good bye.\n"},
		{"never completed", []*event.Event{says("a", "Hel", true)}, "[a]: Hel\n"},
		{"thoughts", []*event.Event{does(&event.Part{Text: "Hm.", Thought: true})}, ""},
		{
			"two at once",
			[]*event.Event{
				says("a", "One ", true), says("b", "Three ", true), says("a", "two.", true), says("a", "One two.", false),
				says("b", "four.", true), says("b", "Three four.", false),
			},
			"[a]: One two.\n[b]: Three four.\n",
		},
		{
			"one overtakes the other",
			[]*event.Event{says("a", "One ", true), says("b", "Three.", false), says("a", "two.", true), says("a", "One two.", false)},
			"[a]: One \n[b]: Three.\n[a]: two.\n",
		},
		{
			"calls",
			[]*event.Event{
				says("a", "Let me ", true),
				does(&event.Part{Text: "Let me see."}, &event.Part{FunctionCall: &event.FunctionCall{Name: "f", Args: json.RawMessage("{\n \"x\": 1 }")}}),
				does(&event.Part{FunctionResponse: &event.FunctionResponse{Name: "f", Response: long}}),
			},
			"[a]: Let me see.\n  → f {\"x\":1}\n  ← f \"" + strings.Repeat("ä", 199) + "…\n",
		},
		{
			"calls that the user is asked about",
			[]*event.Event{{
				Author: "a",
				Actions: event.Actions{
					RequestedToolConfirmations: map[string]json.RawMessage{"1": json.RawMessage("{}")},
					RequestedAuthConfigs:       map[string]json.RawMessage{"2": json.RawMessage("{}")},
				},
				Content: &event.Content{Parts: []*event.Part{
					{FunctionResponse: &event.FunctionResponse{ID: "1", Name: "refund", Response: json.RawMessage(`{"error":"This tool call requires confirmation."}`)}},
					{FunctionResponse: &event.FunctionResponse{ID: "2", Name: "calendar", Response: json.RawMessage(`{"pending":true}`)}},
					{FunctionResponse: &event.FunctionResponse{ID: "3", Name: "weather", Response: json.RawMessage(`{"error":"no city"}`)}},
				}},
			}},
			"  ← weather {\"error\":\"no city\"}\n",
		},
		{
			"data",
			[]*event.Event{does(
				&event.Part{InlineData: &event.Blob{MIMEType: "image/png", Data: []byte("abc")}},
				&event.Part{FileData: &event.FileData{MIMEType: "text/plain", FileURI: "gs://a/b"}},
			)},
			"  + image/png (3 bytes)\n  + text/plain gs://a/b\n",
		},
		{
			"control characters",
			[]*event.Event{says("a", "\x1b]52;c;ZXZpbA==\x07one\ttwo\nthree\u009b2J\x7f\r", false)},
			"[a]: ]52;c;ZXZpbA==one\ttwo\nthree2J\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			s := newScreen(&Env{Stdout: &out})
			for _, ev := range test.events {
				s.show(ev)
			}
			s.finish()
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColours(t *testing.T) {
	for want, env := range map[bool]*Env{
		true:  {StdoutTerminal: true},
		false: {StdoutTerminal: true, Environ: []string{"NO_COLOR=1"}},
	} {
		if got := newScreen(env).dim; got != want {
			t.Errorf("with %v it is %v", env.Environ, got)
		}
	}
	if newScreen(&Env{}).dim || newScreen(&Env{StdoutTerminal: true, Environ: []string{"TERM=dumb"}}).dim {
		t.Error("colours where there are none")
	}
}
