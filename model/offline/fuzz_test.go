package offline

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
)

// FuzzGenerate gives the same text and JSON to every place where either may
// come from outside.
func FuzzGenerate(f *testing.F) {
	for _, d := range kit {
		f.Add("weather, time or task in \"New York\" for 3 days, please? 'x' «y", string(d.Parameters))
	}
	f.Add("", `{"properties":{"a":{"$ref":"#/properties/a"}},"required":["a"]}`)
	f.Add("get weather to from in", `{"type":["null"],"properties":{"":{}},"required":["",""]}`)
	f.Add("\xff\xfe get_weather \" ' -1,000.5.6 ", `{"$ref":"#","anyOf":[{"$ref":"#"}]}`)
	f.Add("weather an't 's 1e999 99999999999999999999999", `{"properties":{"n":{"type":"integer"},"l":{"type":"array"}},"required":["n","l"]}`)
	f.Add("pending", `{"status":"pending","pending":true,"message":null,"error":{}}`)

	f.Fuzz(func(t *testing.T, text, doc string) {
		raw := json.RawMessage(doc)
		tools := []model.Declaration{
			{Name: "get_weather", Description: text, Parameters: raw},
			{Name: text, Parameters: raw},
			{Name: transferTool, Description: text, Parameters: raw},
		}
		for _, contents := range [][]*event.Content{
			{user(text)},
			{user(text), reply("To use get_weather I need: x."), user(text)},
			{user(text), called(text), returned("get_weather", doc, text, doc)},
			{nil, {Parts: []*event.Part{nil}}, user(text), called("get_weather"), nil},
		} {
			for _, config := range []*model.Config{nil, {ResponseSchema: raw}} {
				req := &model.Request{Instruction: text, Tools: tools, Config: config, Stream: true}
				req.SetContents(contents)
				check(t, req)
			}
		}
	})
}

// check makes sure that the response keeps the promises of model.Model.
func check(t *testing.T, req *model.Request) {
	t.Helper()
	var pieces, whole string
	complete := 0
	for r, err := range New().Generate(t.Context(), req) {
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Partial:
			pieces += r.Content.Text()
		default:
			complete++
			whole = r.Content.Text()
			for _, c := range r.Content.FunctionCalls() {
				if readMembers(c.Args) == nil || !json.Valid(c.Args) {
					t.Errorf("the arguments are %s", c.Args)
				}
			}
		}
	}
	if complete != 1 || pieces != whole {
		t.Errorf("got %d complete responses, %q in pieces and %q as a whole", complete, pieces, whole)
	}
}
