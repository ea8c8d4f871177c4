package agent

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

type fixedState map[string]json.RawMessage

func (s fixedState) Get(key string) (json.RawMessage, bool) { v, ok := s[key]; return v, ok }
func (s fixedState) All() map[string]json.RawMessage        { return maps.Clone(s) }

func TestTemplate(t *testing.T) {
	state := fixedState{
		"city": json.RawMessage(`"Köln"`), "n": json.RawMessage(`7`), "list": json.RawMessage(`["a",1]`),
		"user:name": json.RawMessage(`"Ada"`), "app:v": json.RawMessage(`true`), "temp:x": json.RawMessage(`"t"`),
	}
	files := func(name string) (string, bool, error) {
		return "<" + name + ">", !strings.Contains(name, "missing"), nil
	}
	for text, want := range map[string]string{
		"{artifact.a.txt} {{ artifact.dir/b c }}": "<a.txt> <dir/b c>",
		"{artifact.user:x} {artifact.é?}":         "<user:x> <é>",
		"{artifact.} {artifact. }":                "{artifact.} {artifact. }",
		"":                                        "",
		"no places":                               "no places",
		"{city}":                                  "Köln",
		"{{city}}":                                "Köln",
		"{ city }, {n}, {list}":                   `Köln, 7, ["a",1]`,
		"{user:name} {app:v} {temp:x}":            "Ada true t",
		"[{missing?}]":                            "[]",
		`{"json": {"a": 1}} and {city}`:           `{"json": {"a": 1}} and Köln`,
		"{not a name} {other:scope} {1x} {a.b}":   "{not a name} {other:scope} {1x} {a.b}",
		"{} { } {{}}":                             "{} { } {{}}",
		"open { and close }":                      "open { and close }",
		"{city":                                   "{city",
	} {
		got, err := parseTemplate(text).render(state, scope{}, files)
		if err != nil || got != want {
			t.Errorf("%q gives %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"{missing}", "{user:missing}", "{artifact.missing}"} {
		if got, err := parseTemplate(text).render(state, scope{}, files); err == nil {
			t.Errorf("%q gives %q, want an error", text, got)
		}
	}
}

// A place such as {Order.amount} is for a member of the input of the node.
func TestTemplateInput(t *testing.T) {
	state := fixedState{"city": json.RawMessage(`"Köln"`)}
	for _, tt := range []struct{ input, want string }{
		{"", "{Order.amount} {Order.lines?} Köln"},
		{`{"amount":7,"lines":["a"]}`, `7 ["a"] Köln`},
		{`{"amount":"seven"}`, "seven  Köln"},
		{`{"amount":null}`, "  Köln"},
		{`"a text"`, "{Order.amount}  Köln"},
	} {
		var known scope
		if tt.input != "" {
			known = scope{json.RawMessage(tt.input), func(string) json.RawMessage { return nil }}
		}
		got, err := parseTemplate("{Order.amount} {Order.lines?} {city}").render(state, known, nil)
		if err != nil || got != tt.want {
			t.Errorf("with %s: %q, %v; want %q", tt.input, got, err, tt.want)
		}
	}
}

// A place such as <Order.amount from pay> is for a member of the output of a node.
func TestTemplateOutput(t *testing.T) {
	known := scope{output: func(node string) json.RawMessage {
		return map[string]json.RawMessage{"pay": json.RawMessage(`{"amount":7}`), "text": json.RawMessage(`"t"`)}[node]
	}}
	for text, want := range map[string]string{
		"<Order.amount from pay> and < Order.amount  from pay >": "7 and 7",
		"<Order.other from pay>":                                 "<Order.other from pay>",
		"<Order.amount from text> <Order.amount from none>":      "<Order.amount from text> <Order.amount from none>",
		"<b>bold</b> a < b from c >":                             "<b>bold</b> a < b from c >",
	} {
		if got, err := parseTemplate(text).render(fixedState{}, known, nil); err != nil || got != want {
			t.Errorf("%q gives %q, %v; want %q", text, got, err, want)
		}
		if got, err := parseTemplate(text).render(fixedState{}, scope{}, nil); err != nil || got != text {
			t.Errorf("outside of a workflow %q gives %q, %v", text, got, err)
		}
	}
}
