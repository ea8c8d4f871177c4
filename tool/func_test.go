package tool_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/toolresult"
	"github.com/parley-run/parley/tool"
)

type place struct {
	City string `json:"city"`
	Note string `json:"note,omitempty"`
}

type trip struct {
	City  string         `json:"city" jsonschema:"where to go"`
	Days  int            `json:"days,omitempty"`
	Ratio float64        `json:"ratio,omitempty"`
	Small uint8          `json:"small,omitempty"`
	At    *time.Time     `json:"at,omitempty"`
	Wait  time.Duration  `json:"wait,omitzero"`
	Home  *place         `json:"home,omitempty"`
	Stops []place        `json:"stops,omitempty"`
	Bags  map[string]int `json:"bags,omitempty"`
	Free  any            `json:"free,omitempty"`
}

// recorder makes a tool that keeps what it was called with.
func recorder[In any](t *testing.T, decl tool.Declaration) (_ tool.Tool, calls *[]In) {
	t.Helper()
	calls = new([]In)
	made, err := tool.New(decl, func(_ *tool.Context, in In) (string, error) {
		*calls = append(*calls, in)
		return "done", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return made, calls
}

func TestEffects(t *testing.T) {
	fn := func(*tool.Context, struct{}) (string, error) { return "", nil }
	for effect, repeatable := range map[tool.Effect]bool{"": false, tool.Once: false, tool.Ask: false, tool.Idempotent: true, tool.Pure: true} {
		made, err := tool.New(tool.Declaration{Name: "x", Effect: effect}, fn)
		if err != nil || made.Declaration().Effect.Repeatable() != repeatable {
			t.Errorf("%q: error %v, want repeatable %v", effect, err, repeatable)
		}
	}
	if _, err := tool.New(tool.Declaration{Name: "x", Effect: "twice"}, fn); err == nil || err.Error() != `new tool x: the effect "twice" is not known: it is one of "pure", "idempotent", "once" and "ask"` {
		t.Errorf("an unknown effect: %v", err)
	}
}

func TestNewDerivesSchema(t *testing.T) {
	made, _ := recorder[trip](t, tool.Declaration{Name: "plan", Description: "plans a trip", LongRunning: true})
	decl := made.Declaration()
	if decl.Name != "plan" || decl.Description != "plans a trip" || !decl.LongRunning {
		t.Errorf("got %+v", decl)
	}
	var got, want any
	if err := json.Unmarshal(decl.Parameters, &got); err != nil {
		t.Fatal(err)
	}
	// Nothing says additionalProperties: false; models invent arguments.
	const place = `"properties":{"city":{"type":"string"},"note":{"type":"string"}},"required":["city"]}`
	if err := json.Unmarshal([]byte(`{"type":"object","required":["city"],"properties":{
		"city":{"type":"string","description":"where to go"},
		"days":{"type":"integer"},
		"ratio":{"type":"number"},
		"small":{"type":"integer","minimum":0,"maximum":255},
		"at":{"type":["null","string"]},
		"wait":{"type":"integer"},
		"home":{"type":["null","object"],`+place+`,
		"stops":{"type":["null","array"],"items":{"type":"object",`+place+`},
		"bags":{"type":"object","additionalProperties":{"type":"integer"}},
		"free":true}}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCallDecodesArguments(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name, args string
		want       trip
	}{
		{
			"all", `{"city":"Bern","days":3,"ratio":0.5,"small":255,"at":"2026-01-02T03:04:05Z","wait":1000,"home":{"city":"Chur"},"stops":[{"city":"Thun","note":"n"}],"bags":{"a":1},"free":[null]}`,
			trip{City: "Bern", Days: 3, Ratio: 0.5, Small: 255, At: &at, Wait: time.Microsecond, Home: &place{City: "Chur"}, Stops: []place{{"Thun", "n"}}, Bags: map[string]int{"a": 1}, Free: []any{nil}},
		},
		{"optional ones left out", `{"city":""}`, trip{}},
		{
			"unknown ones", `{"city":"Bern","mood":"good","home":{"city":"Chur","mood":1},"stops":[{"city":"Thun","mood":{}}]}`,
			trip{City: "Bern", Home: &place{City: "Chur"}, Stops: []place{{City: "Thun"}}},
		},
		{"beyond the precision of floats", `{"city":"Bern","days":9007199254740993}`, trip{City: "Bern", Days: 9007199254740993}},
		// encoding/json would take these for city and days, past the schema.
		{"other case", `{"city":"Bern","CITY":"x","Days":"x"}`, trip{City: "Bern"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made, calls := recorder[trip](t, tool.Declaration{Name: "plan"})
			out, err := made.Call(&tool.Context{Context: t.Context()}, json.RawMessage(tt.args))
			if err != nil || out != "done" {
				t.Fatalf("got %v and %v", out, err)
			}
			if diff := cmp.Diff([]trip{tt.want}, *calls); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// explicit uses more of JSON Schema than Go types can say.
const explicit = `{"type":"object","additionalProperties":false,"required":["unit"],"properties":{
	"unit":{"enum":["C","F"]},
	"n":{"type":"integer","minimum":1,"maximum":5},
	"step":{"multipleOf":0.5},
	"code":{"type":"string","pattern":"^a+$","maxLength":3},
	"list":{"type":"array","minItems":1,"items":{"type":["string","integer"]}},
	"either":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},
	"one":{"oneOf":[{"type":"string"},{"minLength":2}]},
	"never":{"not":{"type":"string"}},
	"fixed":{"const":4},
	"ref":{"$ref":"#/$defs/R"},
	"a/b ~c":{"type":"string"},
	"properties":{"properties":{"items":{"type":"string"}},"patternProperties":{"properties":{"type":"string"}}}},
	"$defs":{"R":{"type":"object","properties":{"x":{"type":"string"}}}}}`

// Bad arguments never reach the function, and the model, which sees neither
// our schema's layout nor Go, is told which argument to change and how.
func TestCallRefusesArguments(t *testing.T) {
	plan, planned := recorder[trip](t, tool.Declaration{Name: "plan"})
	convert, converted := recorder[map[string]any](t, tool.Declaration{Name: "convert", Parameters: json.RawMessage(explicit)})
	for _, tt := range []struct {
		tool       tool.Tool
		args, want string
	}{
		{plan, ``, `missing properties: ["city"]`},
		{plan, `null`, `missing properties: ["city"]`},
		{plan, `{}`, `missing properties: ["city"]`},
		{plan, `{"City":"Bern"}`, `missing properties: ["city"]`},
		{plan, `{"city":5}`, `city: has type "integer", want "string"`},
		{plan, `{"city":null}`, `city: has type "null", want "string"`},
		{plan, `{"city":{"a":{"has type \"":1}}}`, `city: has type "object", want "string"`},
		{plan, `{"city":"a","days":"3"}`, `days: has type "string", want "integer"`},
		{plan, `{"city":"a","days":3.5}`, `days: has type "number", want "integer"`},
		{plan, `{"city":"a","days":1e30}`, `days: the number must be in range and, where it is a whole one, written without a fraction`},
		{plan, `{"city":"a","days":3.0}`, `days: the number must be in range and, where it is a whole one, written without a fraction`},
		{plan, `{"city":"a","small":300}`, `small: is greater than 255`},
		{plan, `{"city":"a","small":-1}`, `small: is less than 0`},
		{plan, `{"city":"a","home":{"note":"n"}}`, `home: missing properties: ["city"]`},
		{plan, `{"city":"a","home":[]}`, `home: has type "array", want one of "null, object"`},
		{plan, `{"city":"a","stops":[{"city":"b"},{"city":[1]}]}`, `stops[].city: has type "array", want "string"`},
		{plan, `{"city":"a","bags":{"b":"x"}}`, `bags.*: has type "string", want "integer"`},
		{plan, `{"city":"a","city":"b"}`, `city: duplicate object member name`},
		{plan, `{"city":"a","at":"noon"}`, `at: parsing time "noon" as "2006-01-02T15:04:05Z07:00": cannot parse "noon" as "2006"`},
		{convert, `{"unit":"K"}`, `unit: K does not equal any of: [C F]`},
		{convert, `{"unit":"C","extra":1}`, `unexpected additional properties ["extra"]`},
		{convert, `{"unit":"C","n":0}`, `n: is less than 1`},
		{convert, `{"unit":"C","n":100}`, `n: is greater than 5`},
		{convert, `{"unit":"C","step":0.7}`, `step: is not a multiple of 0.5`},
		{convert, `{"unit":"C","code":"b: c"}`, `code: "b: c" contains 4 Unicode code points, more than 3`},
		{convert, `{"unit":"C","code":"b"}`, `code: "b" does not match regular expression "^a+$"`},
		{convert, `{"unit":"C","list":[]}`, `list: array length 0 is less than 1`},
		{convert, `{"unit":"C","list":[true]}`, `list[]: has type "boolean", want one of "string, integer"`},
		{convert, `{"unit":"C","either":5}`, `either: has type "integer", want "string"; or either: has type "integer", want "array"`},
		{convert, `{"unit":"C","one":"ab"}`, `one: fits none, or too many, of the allowed forms`},
		{convert, `{"unit":"C","never":"x"}`, `never: fits none, or too many, of the allowed forms`},
		{convert, `{"unit":"C","fixed":5}`, `fixed: 5 does not equal 4`},
		{convert, `{"unit":"C","ref":5}`, `ref: has type "integer", want "object"`},
		{convert, `{"unit":"C","ref":{"x":5}}`, `ref: has type "integer", want "string"`},
		{convert, `{"unit":"C","a/b ~c":5}`, `a/b ~c: has type "integer", want "string"`},
		{convert, `{"unit":"C","properties":{"items":5}}`, `properties.items: has type "integer", want "string"`},
		{convert, `{"unit":"C","properties":{"properties":5}}`, `properties: has type "integer", want "string"`},
	} {
		out, err := tt.tool.Call(&tool.Context{Context: t.Context()}, json.RawMessage(tt.args))
		if err == nil {
			t.Errorf("%s: got %v, want an error", tt.args, out)
			continue
		}
		if got, want := err.Error(), "invalid arguments: "+tt.want; got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.args, got, want)
		}
	}
	for _, args := range []string{`[]`, `"x"`, `5`, `{`, `{"city":"a"} x`, `undefined`} {
		if _, err := plan.Call(&tool.Context{Context: t.Context()}, json.RawMessage(args)); err == nil || err.Error() != "the arguments are not a JSON object" {
			t.Errorf("%s: got %v", args, err)
		}
	}
	if len(*planned)+len(*converted) > 0 {
		t.Errorf("called with %v %v", *planned, *converted)
	}
}

func TestCallPassesThrough(t *testing.T) {
	ctx := &tool.Context{Context: t.Context(), FunctionCallID: "call-1"}
	boom := errors.New("boom")
	var seen *tool.Context
	failing := tool.Must(tool.New(tool.Declaration{Name: "f"}, func(ctx *tool.Context, _ struct{}) (string, error) {
		seen = ctx
		return "half", boom
	}))
	for _, args := range []string{``, `null`, `{}`, `{"made":"up"}`} { // all that models send when there are no arguments
		seen = nil
		if out, err := failing.Call(ctx, json.RawMessage(args)); out != nil || !errors.Is(err, boom) || seen != ctx {
			t.Errorf("%s: got %v, %v and %v", args, out, err, seen)
		}
	}
	proxy := tool.Must(tool.New(tool.Declaration{Name: "f", Parameters: json.RawMessage(`{"type":"object"}`)},
		func(_ *tool.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }))
	const args = `{"b":1.0,"a":"\ud83d"}`
	out, err := proxy.Call(ctx, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := toolresult.Of(out); err != nil || string(got) != args {
		t.Errorf("got %s and %v, want %s", got, err, args)
	}
	receipt := tool.Must(tool.New(tool.Declaration{Name: "f", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
	if out, err := receipt.Call(ctx, nil); out != nil || err != nil {
		t.Errorf("got %v and %v, want nothing yet", out, err)
	}
}

// declare makes a tool whose function does not matter.
func declare[In any](name, parameters string) error {
	decl := tool.Declaration{Name: name}
	if parameters != "" {
		decl.Parameters = json.RawMessage(parameters)
	}
	_, err := tool.New(decl, func(*tool.Context, In) (string, error) { return "", nil })
	return err
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"no name", declare[struct{}]("", ""), "new tool: "},
		{"string", declare[string]("f", ""), "new tool f: the arguments must be a struct"},
		{"slice", declare[[]string]("f", ""), "new tool f: the arguments must be a struct"},
		{"any", declare[any]("f", ""), "new tool f: the arguments must be a struct"},
		{"pointer", declare[*trip]("f", ""), "new tool f: the arguments must be a struct"},
		{"channel", declare[struct{ C chan int }]("f", ""), "new tool f: parameters: "},
		{"parameters of an array", declare[trip]("f", `{"type":"array"}`), "new tool f: the arguments must be a struct"},
		{"parameters that are not JSON", declare[trip]("f", `{`), "new tool f: parameters: "},
		{"parameters that lead nowhere", declare[trip]("f", `{"type":"object","$ref":"#/$defs/none"}`), "new tool f: parameters: "},
		{"parameters without an end", declare[trip]("f", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`), "new tool f: parameters: #/$defs/a contains itself"},
	} {
		if tt.err == nil || !strings.HasPrefix(tt.err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s…", tt.name, tt.err, tt.want)
		}
	}
	for name, err := range map[string]error{"struct": declare[trip]("f", ""), "map": declare[map[string]int]("f", ""), "nothing": declare[struct{}]("f", "")} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Must does not panic")
		}
	}()
	tool.Must(nil, errors.New("x"))
}
