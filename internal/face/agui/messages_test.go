package agui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/face"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// A snapshot has the ids of the stream: a client that gets both keeps each message once,
// and its thoughts.
func TestSnapshotIDs(t *testing.T) {
	t.Parallel()
	think := func(s string) *event.Part { return &event.Part{Text: s, Thought: true} }
	say := func(s string) *event.Part { return &event.Part{Text: s} }
	call := &event.Part{FunctionCall: &event.FunctionCall{ID: "c", Name: "look", Args: json.RawMessage(`{}`)}}
	for name, tt := range map[string]struct {
		parts []*event.Part
		want  string
	}{
		"text":                  {[]*event.Part{say("a"), say("b")}, "assistant e ab"},
		"call":                  {[]*event.Part{call}, "assistant e  call"},
		"text and call":         {[]*event.Part{say("a"), call, call}, "assistant e a call call"},
		"thought and text":      {[]*event.Part{think("a"), think("b"), say("c")}, "reasoning e ab, assistant e-1 c"},
		"thought, text, call":   {[]*event.Part{think("a"), say("b"), call}, "reasoning e a, assistant e-1 b call"},
		"thought and call":      {[]*event.Part{think("a"), call}, "reasoning e a, assistant e-1  call"},
		"text, thought, call":   {[]*event.Part{say("a"), think("b"), call}, "assistant e a, reasoning e-1 b, assistant e-2  call"},
		"thought between texts": {[]*event.Part{say("a"), think("b"), say("c")}, "assistant e a, reasoning e-1 b, assistant e-2 c"},
	} {
		doc, err := json.Marshal(&event.Event{ID: "e", InvocationID: "r", Author: "agent", Content: &event.Content{Role: event.RoleModel, Parts: tt.parts}})
		if err != nil {
			t.Fatal(err)
		}
		entry := &session.Entry{Seq: 1, JSON: doc}
		steps, err := new(face.Transcript).Item(nil, run.Item{JSON: doc, Entry: entry})
		if err != nil {
			t.Fatal(err)
		}
		// The messages of a client that reads the stream.
		var streamed []string
		for _, s := range steps {
			switch s.Kind {
			case face.TextEnd:
				streamed = append(streamed, "assistant "+s.ID+" "+s.Text)
			case face.ThoughtEnd:
				streamed = append(streamed, "reasoning "+s.ID+" "+s.Text)
			case face.Call:
				if n := len(streamed); n == 0 || !strings.HasPrefix(streamed[n-1], "assistant "+s.Parent+" ") {
					streamed = append(streamed, "assistant "+s.Parent+" ")
				}
				streamed[len(streamed)-1] += " call"
			default:
			}
		}
		var list []struct {
			ID, Role, Content string
			ToolCalls         []any
		}
		if err := json.Unmarshal(messages(&session.Session{Entries: []*session.Entry{entry}}), &list); err != nil {
			t.Fatal(err)
		}
		var shown []string
		for _, m := range list {
			shown = append(shown, m.Role+" "+m.ID+" "+m.Content+strings.Repeat(" call", len(m.ToolCalls)))
		}
		if got, stream := strings.Join(shown, ", "), strings.Join(streamed, ", "); got != tt.want || stream != tt.want {
			t.Errorf("%s: the snapshot has %q, the stream %q, want %q", name, got, stream, tt.want)
		}
	}
}
