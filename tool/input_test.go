package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

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
		err := tool.CheckInput(json.RawMessage(tt.args), json.RawMessage(tt.answer))
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("%s: error %v, want %q", name, err, tt.fault)
		}
	}
}

// A model that asks for what nobody can answer is told so, and nobody waits.
func TestInputTools(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool        tool.Tool
		args, fault string
	}{
		"input":          {tool.RequestInput(), `{"message":"Well?"}`, ""},
		"with a schema":  {tool.RequestInput(), `{"message":"Well?","responseSchema":{"type":"STRING"}}`, ""},
		"no schema":      {tool.RequestInput(), `{"message":"Well?","responseSchema":{"$ref":"#/nowhere"}}`, "responseSchema is no JSON Schema"},
		"schema of text": {tool.RequestInput(), `{"message":"Well?","responseSchema":"string"}`, "responseSchema is no JSON Schema"},
		"no object":      {tool.RequestInput(), `[]`, "not a JSON object"},
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

func FuzzCheckInput(f *testing.F) {
	f.Add(`{"responseSchema":{"type":"object","properties":{"n":{"type":"INTEGER"}}}}`, `{"result":"{\"n\":1}"}`)
	f.Add(`{"response_schema":{"anyOf":[{"type":"string"},{"not":{}}]}}`, `{"response":1}`)
	f.Fuzz(func(_ *testing.T, args, answer string) {
		_ = tool.CheckInput(json.RawMessage(args), json.RawMessage(answer))
		_, _ = tool.RequestInput().Call(&tool.Context{}, json.RawMessage(args))
	})
}
