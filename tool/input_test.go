package tool_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/schema"
	"github.com/parley-run/parley/tool"
)

func TestCheckInput(t *testing.T) {
	t.Parallel()
	const object = `{"message":"?","responseSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":1}},"required":["n"]}}`
	for name, tt := range map[string]struct{ args, answer, fault string }{
		"no schema":            {`{"message":"?"}`, `{"result":"anything"}`, ""},
		"null schema":          {`{"responseSchema":null}`, `{"a":1}`, ""},
		"object":               {object, `{"n":3}`, ""},
		"wrapped":              {object, `{"result":{"n":3}}`, ""},
		"wrapped as text":      {object, `{"response":"{\"n\":3}"}`, ""},
		"wrong type":           {object, `{"n":"three"}`, `n: has type "string"`},
		"too small":            {object, `{"n":0}`, "n: is less than 1"},
		"missing":              {object, `{}`, "n"},
		"wrapped, wrong":       {object, `{"result":{"n":"x"}}`, `n: has type "string"`},
		"text":                 {`{"responseSchema":{"type":"string"}}`, `{"result":"x"}`, ""},
		"number as text":       {`{"responseSchema":{"type":"INTEGER"}}`, `{"result":"42"}`, ""},
		"not a number":         {`{"responseSchema":{"type":"INTEGER"}}`, `{"result":"many"}`, "integer"},
		"snake case":           {`{"response_schema":{"enum":["a","b"]}}`, `{"result":"c"}`, "does not equal any of"},
		"what cannot be asked": {`{"responseSchema":{"$ref":"#/nowhere"}}`, `{"result":"c"}`, ""},
	} {
		err := schema.CheckInput(json.RawMessage(tt.args), json.RawMessage(tt.answer))
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s: error %v, want %q", name, err, tt.fault)
		}
	}
}

// A model that asks for what cannot be answered gets an error, and the run does not wait.
func TestInputTools(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool        tool.Tool
		args, fault string
	}{
		"input":          {tool.RequestInput(), `{"message":"Well?"}`, ""},
		"with a schema":  {tool.RequestInput(), `{"message":"Well?","responseSchema":{"type":"STRING"}}`, ""},
		"no schema":      {tool.RequestInput(), `{"message":"Well?","responseSchema":{"$ref":"#/nowhere"}}`, "responseSchema is not a JSON Schema"},
		"schema of text": {tool.RequestInput(), `{"message":"Well?","responseSchema":"string"}`, "responseSchema is not a JSON Schema"},
		"no object":      {tool.RequestInput(), `[]`, "not a JSON object"},
		"itself":         {tool.RequestInput(), `{"responseSchema":{"$ref":"#"}}`, "# contains itself"},
		"all of itself":  {tool.RequestInput(), `{"responseSchema":{"allOf":[{"$ref":"#"}]}}`, "# contains itself"},
		"choice":         {tool.UserChoice(), `{"options":["a","b"]}`, ""},
		"no choice":      {tool.UserChoice(), `{"options":[]}`, "options"},
	} {
		if d := tt.tool.Declaration(); !d.LongRunning || !d.Effect.Repeatable() || !json.Valid(d.Parameters) {
			t.Errorf("%s: the declaration is %+v", name, d)
		}
		value, err := tt.tool.Call(&tool.Context{}, json.RawMessage(tt.args))
		if value != nil || tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s: %v, %v", name, value, err)
		}
	}
}

// A schema that comes back to itself without going into the value has no end,
// and one whose parts double at each step has none that anyone lives to see.
// Both can come from a model, or with an imported session.
func TestInputWithoutEnd(t *testing.T) {
	t.Parallel()
	doubled := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 64 {
		doubled += fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubled += `"a64":{}}}`
	chain := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 2000 {
		chain += fmt.Sprintf(`"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
	}
	chain += `"a2000":{}}}`
	for name, asked := range map[string]string{
		"root":             `{"$ref":"#"}`,
		"allOf":            `{"allOf":[{"type":"string"},{"$ref":"#"}]}`,
		"anyOf":            `{"anyOf":[{"$ref":"#"}]}`,
		"oneOf":            `{"oneOf":[{"$ref":"#"}]}`,
		"not":              `{"not":{"$ref":"#"}}`,
		"if":               `{"if":{"$ref":"#"}}`,
		"then":             `{"if":true,"then":{"$ref":"#"}}`,
		"else":             `{"if":false,"else":{"$ref":"#"}}`,
		"dependentSchemas": `{"dependentSchemas":{"result":{"$ref":"#"}}}`,
		"dependencies":     `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"result":{"$ref":"#"}}}`,
		"two definitions":  `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`,
		"below a member":   `{"properties":{"result":{"allOf":[{"$ref":"#/properties/result"}]}}}`,
		"below all":        `{"additionalProperties":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		"escaped":          `{"$ref":"#/$defs/a~1%7E0%20b","$defs":{"a/~ b":{"$ref":"#/$defs/a~1~0%20b"}}}`,
		"anchor":           `{"$anchor":"a","allOf":[{"$ref":"#a"}]}`,
		"dynamic":          `{"$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}`,
		"absolute":         `{"$id":"https://a.example/","$ref":"https://a.example/"}`,
		"another document": `{"$defs":{"a":{"$id":"https://a.example/","$ref":"#"}},"$ref":"https://a.example/"}`,
		"doubled":          doubled,
		"chain":            chain,
		"deep":             strings.Repeat(`{"items":`, 3000) + `{"description":"` + strings.Repeat("x", 1<<18) + `"}` + strings.Repeat(`}`, 3000),
	} {
		args := json.RawMessage(`{"message":"?","responseSchema":` + asked + `}`)
		if _, err := tool.RequestInput().Call(&tool.Context{}, args); err == nil {
			t.Errorf("%s: the model may ask for it", name)
		}
		if err := schema.CheckInput(args, json.RawMessage(`{"result":"x"}`)); err != nil {
			t.Errorf("%s: it cannot have been asked for, but the answer is refused: %v", name, err)
		}
	}
}

// A schema with an end may still take forever with some values.
func TestInputThatTakesTooLong(t *testing.T) {
	t.Parallel()
	const tree = `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}}}`
	const list = `{"items":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`
	needs := `{"required":["x"],` + tree[1:]
	deep := strings.Repeat(`{"x":`, 60) + `{}` + strings.Repeat(`}`, 60)
	long := strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct{ schema, answer, fault string }{
		"object":        {tree, deep, "too much"},
		"wrapped":       {needs, `{"result":` + deep + `}`, "too much"},
		"wrapped twice": {needs, `{"result":` + strconv.Quote(deep) + `}`, `has type "string"`},
		"list":          {list, strings.Repeat(`[`, 60) + strings.Repeat(`]`, 60), "too much"},
		"deep":          {`{"items":{"$ref":"#"}}`, strings.Repeat(`[`, 5000) + strings.Repeat(`]`, 5000), "too much"},
		"long":          {`{"anyOf":[` + strings.Repeat(`{"type":"null"},`, 999) + `{"type":"null"}]}`, `"` + long + `"`, "too much"},
		"long choice":   {`{"items":{"enum":["` + long + `"]}}`, `[` + strings.Repeat(`1,`, 999) + `1]`, "too much"},
		"short object":  {tree, `{"x":{"x":{"x":{}}}}`, ""},
		"many items":    {`{"items":{"type":"object","properties":{"n":{"type":"integer"}}}}`, `[` + strings.Repeat(`{"n":1},`, 20_000) + `{}]`, ""},
		"large file":    {`{"type":"object","properties":{"file":{"type":"string"}}}`, `{"file":"` + strings.Repeat(long, 8) + `"}`, ""},
		"prefix":        {`{"prefixItems":[{"type":"string"},{"type":"integer"}]}`, `["a"]`, ""},
		"names":         {`{"propertyNames":{"minLength":2}}`, `{"ab":1}`, ""},
		"mixed items":   {list, `[1,"a"]`, ""},
	} {
		err := schema.CheckInput(json.RawMessage(`{"responseSchema":`+tt.schema+`}`), json.RawMessage(tt.answer))
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s: error %.200v, want %q", name, err, tt.fault)
		}
	}
}

func FuzzCheckInput(f *testing.F) {
	f.Add(`{"responseSchema":{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}}`, `{"result":1}`)
	f.Add(`{"responseSchema":{"items":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, `[[[[[[]]]]]]`)
	f.Add(`{"responseSchema":{"type":"object","properties":{"n":{"type":"INTEGER"}}}}`, `{"result":"{\"n\":1}"}`)
	f.Add(`{"response_schema":{"anyOf":[{"type":"string"},{"not":{}}]}}`, `{"response":1}`)
	f.Fuzz(func(_ *testing.T, args, answer string) {
		_ = schema.CheckInput(json.RawMessage(args), json.RawMessage(answer))
		_, _ = tool.RequestInput().Call(&tool.Context{}, json.RawMessage(args))
	})
}
