package offline

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/model"
)

func TestSample(t *testing.T) {
	t.Parallel()
	const text = "give me 2.5 or 7, in blue"
	tests := []struct{ name, schema, want string }{
		{"required members", `{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"string"}},"required":["a"]}`, `{"a":"` + text + `"}`},
		{"numbers of the text", string(object("a", integer, "b", num)), `{"a":7,"b":0}`},
		{"limits", string(object("a", `{"type":"number","minimum":3}`, "b", `{"type":"integer","exclusiveMinimum":9}`, "c", `{"type":"integer","maximum":-1}`)), `{"a":3,"b":10,"c":-1}`},
		{"length", string(object("a", `{"type":"string","maxLength":4}`)), `{"a":"give"}`},
		{"at least", string(object("a", `{"type":"string","minLength":27}`)), `{"a":"` + text + `.."}`},
		{"formats", string(object("a", `{"type":"string","format":"date"}`)), `{"a":"1970-01-01"}`},
		{"a choice that is mentioned", string(object("a", `{"enum":["red","blue"]}`)), `{"a":"blue"}`},
		{"a choice that is not", string(object("a", `{"enum":["red","green"]}`)), `{"a":"red"}`},
		{"a constant", string(object("a", `{"const":{"x":1}}`)), `{"a":{"x":1}}`},
		{"lists", string(object("a", strs, "b", `{"type":"array","items":{"type":"boolean"},"minItems":2}`)), `{"a":[],"b":[false,false]}`},
		{"optional", string(object("a", `{"anyOf":[{"type":"null"},{"type":["null","boolean"]}]}`)), `{"a":false}`},
		{"references", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"b":{"$ref":"#/$defs/B"}},"required":["b"]},"B":{"type":"null"}}}`, `{"b":null}`},
		{"a circle", `{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}`, `"` + text + `"`},
		{"undeclared", `{"type":"object","required":["a"]}`, `{"a":"` + text + `"}`},
		{"not a schema", `[`, `"` + text + `"`},
		{"members of the wrong type", `{"type":7,"minItems":"x","properties":{"a":1},"required":["a"]}`, `{"a":"` + text + `"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := string(sample(json.RawMessage(tt.schema), text, text)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSampleIsFinite(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"type":"array","minItems":1000000000,"items":{"$ref":"#"}}},"required":["a","b","c"]}`
	if got := sample(json.RawMessage(schema), "x", "x"); !json.Valid(got) || len(got) > 1<<20 {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestAnswersInJSON(t *testing.T) {
	t.Parallel()
	config := &model.Config{ResponseSchema: object("text", str)}

	req := request(user("nothing that matches"))
	req.Config = config
	if got, want := generate(t, req), `{"text":"nothing that matches"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	req = request(user("weather in Rome"))
	req.Config = config
	if got, want := generate(t, req), `get_weather{"city":"Rome"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	req = request(user("weather in Rome"), called("get_weather"), returned("get_weather", `{"report":"Sunny."}`))
	req.Config = config
	if got, want := generate(t, req), `{"text":"Sunny."}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	req = request(user("what's up"))
	req.Config = &model.Config{ResponseMIMEType: "application/json"}
	if got, want := generate(t, req), `"what's up"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
