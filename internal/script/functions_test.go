package script

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
)

// tools is an application in a directory of its own, and a model that calls
// what it is told to: a message is the name of a tool and its arguments.
type tools struct {
	dir   string
	root  *agent.Agent
	model *scripted.Model
}

func loadTools(t *testing.T, files map[string]string) *tools {
	t.Helper()
	out := &tools{dir: t.TempDir()}
	for name, text := range files {
		file := filepath.Join(out.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out.model = scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		name, args, called := strings.Cut(scripted.LastUserText(req), " ")
		if !called || len(scripted.LastResponses(req)) > 0 {
			return scripted.Say("done")(ctx, req)
		}
		return scripted.Calls(&event.FunctionCall{Name: name, Args: json.RawMessage(args)})(ctx, req)
	})
	apps, err := Load(t.Context(), Options{
		Dir: out.dir, AppName: "app", Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Models: func(string, json.RawMessage, func(string) string) (model.Model, error) { return out.model, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(apps.Close)
	root, _, err := apps.Agent("app")
	if err != nil {
		t.Fatal(err)
	}
	out.root = root
	return out
}

func (o *tools) say(t *testing.T, text string) []*event.Event {
	t.Helper()
	message := event.Text(event.RoleUser, text)
	log := agentrt.NewPrivateLog(nil, []*event.Event{{Author: event.User, Content: message}})
	inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: "e-1", UserContent: message, Log: log, MaxModelCalls: 5}
	var events []*event.Event
	err := inv.Start(t.Context(), o.root, func(ev *event.Event) error {
		events = append(events, ev)
		return log.Emit(ev)
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// call is what a tool gives.
func (o *tools) call(t *testing.T, name, args string) string {
	t.Helper()
	for _, ev := range o.say(t, name+" "+args) {
		for _, r := range ev.FunctionResponses() {
			return string(r.Response)
		}
	}
	t.Fatalf("%s was not called", name)
	return ""
}

// declared are the tools as the model sees them, each in a line.
func (o *tools) declared(t *testing.T) map[string]string {
	t.Helper()
	o.say(t, "hello")
	all := map[string]string{}
	for _, d := range o.model.Requests()[0].Tools {
		var params bytes.Buffer
		if err := json.Compact(&params, d.Parameters); err != nil {
			t.Fatal(err)
		}
		all[d.Name] = strings.TrimSpace(d.Description + " " + params.String())
	}
	return all
}

// functionTool is a tool, what it declares, and one call.
type functionTool struct{ code, tool, declares, args, returns string }

// show is for the tools to say what they were given.
const show = `const show = (...all) => ({ got: all.map((v) => (v?.state?.get ? 'ctx' : v instanceof Date ? 'Date ' + v.getTime() : typeof v === 'bigint' ? v + 'n' : v === undefined ? 'none' : v)) });
`

// checkTools puts all tools into one agent. A tool that has no name is called
// like its function.
func checkTools(t *testing.T, file, head string, all []functionTool) {
	t.Helper()
	var code, list strings.Builder
	code.WriteString(head + show)
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = fmt.Sprintf("t%d", i)
		replace := strings.NewReplacer("NAME", names[i])
		code.WriteString(replace.Replace(f.code) + "\n")
		if f.tool == "" {
			f.tool = names[i]
		}
		list.WriteString(replace.Replace(f.tool) + ", ")
	}
	code.WriteString("export const rootAgent = new LlmAgent({ name: 'root', model: 'm', tools: [" + list.String() + "] });\n")
	o := loadTools(t, map[string]string{file: code.String()})
	declared := o.declared(t)
	for i, f := range all {
		t.Run(strings.TrimSpace(f.code+" "+f.tool), func(t *testing.T) {
			if got := declared[names[i]]; got != f.declares {
				t.Errorf("declares %s\n    want %s", got, f.declares)
			}
			want := `{"got":` + f.returns + `}`
			if got := o.call(t, names[i], f.args); got != want {
				t.Errorf("returns %s\n   want %s", got, want)
			}
		})
	}
}

const (
	cityOnly    = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	cityAndUnit = `{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}},"required":["city","unit"]}`
)

func TestFunctionsOfTypeScript(t *testing.T) {
	checkTools(t, "index.ts", `import { LlmAgent, FunctionTool, LongRunningFunctionTool, type ToolContext as Given } from 'adk-typescript';
// The bundler gives the parameters of these names others.
const city = 1, params = 2, context = 3, unit = 4;
console.debug(city, params, context, unit);
interface Query { city: string; /** How many. */ days?: number }
`, []functionTool{
		// By name, in whatever order the model writes them.
		{`function NAME(city: string, unit: string) { return show(city, unit); }`, ``, cityAndUnit, `{"unit":"c","city":"Paris"}`, `["Paris","c"]`},
		{
			`/** Gets it.
		  * @param city Where. */
		const NAME = async (city: string, days: number, context: any) => show(city, days, context);`, ``,
			`Gets it. {"type":"object","properties":{"city":{"type":"string","description":"Where."},"days":{"type":"number"}},"required":["city","days"]}`,
			`{"days":2,"city":"Paris"}`, `["Paris",2,"ctx"]`,
		},
		// The context, under any name and in any place.
		{`function NAME(city: string, given: Given) { return show(city, given); }`, ``, cityOnly, `{"city":"Paris"}`, `["Paris","ctx"]`},
		{`function NAME(given: Given, city: string) { return show(given, city); }`, ``, cityOnly, `{"city":"Paris"}`, `["ctx","Paris"]`},
		{`function NAME(city: string, g) { g.state.set('x', 1); return show(city, g); }`, ``, cityOnly, `{"city":"Paris"}`, `["Paris","ctx"]`},
		{`function NAME(g) { g.state.set('x', 1); return show(g); }`, ``, `{"type":"object","properties":{}}`, `{}`, `["ctx"]`},
		{`function NAME(params) { return show(params.session.id); }`, ``, `{"type":"object","properties":{"session":{"type":"string"}},"required":["session"]}`, `{"session":{"id":1}}`, `[1]`},
		{`function NAME(toolContext: Given) { return show(toolContext); }`, ``, `{"type":"object","properties":{}}`, `{}`, `["ctx"]`},
		{`function NAME(city: string, { state }: Given) { return show(city, typeof state.get); }`, ``, cityOnly, `{"city":"Paris"}`, `["Paris","function"]`},
		{`function NAME(city: string, { state, actions }) { return show(city, typeof state.get, typeof actions); }`, ``, cityOnly, `{"city":"Paris"}`, `["Paris","function","object"]`},
		{`function NAME() { return show(...arguments); }`, ``, `{"type":"object","properties":{}}`, `{}`, `[{},"ctx"]`},
		// All arguments in one object.
		{`function NAME(params: { city: string; unit: string }, context: Given) { return show(params.city, params.unit, context); }`, ``, cityAndUnit, `{"city":"Paris","unit":"c"}`, `["Paris","c","ctx"]`},
		{
			`function NAME(query: Query) { return show(query); }`, ``,
			`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"number","description":"How many."}},"required":["city"]}`, `{"city":"Paris"}`, `[{"city":"Paris"}]`,
		},
		{
			`function NAME(params: Record<string, any>, ctx) { const { city, days = 3 } = params; return show(city, days, ctx); }`, ``,
			`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"number","default":3}},"required":["city"]}`, `{"city":"Paris"}`, `["Paris",3,"ctx"]`,
		},
		{
			`function NAME(params: any) { return show(params.city, params['days'] ?? 2); }`, ``,
			`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"number","default":2}},"required":["city"]}`, `{"city":"Paris","days":5}`, `["Paris",5]`,
		},
		{
			`function NAME(prices: Record<string, number>) { return show(prices); }`, ``,
			`{"type":"object","additionalProperties":{"type":"number"},"properties":{}}`, `{"a":1}`, `[{"a":1}]`,
		},
		{
			`function NAME(prices: Record<string, number>) { return show(prices.a); }`, ``,
			`{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`, `{"a":1}`, `[1]`,
		},
		{
			`function NAME(params: Imported) { const { where: { city }, days } = params; return show(city, days); }`, ``,
			`{"type":"object","properties":{"where":{"type":"string"},"days":{"type":"string"}},"required":["where","days"]}`, `{"where":{"city":"Paris"},"days":1}`, `["Paris",1]`,
		},
		{
			`function NAME(input: string) { return show(input.toUpperCase()); }`, ``,
			`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`, `{"input":"a"}`, `["A"]`,
		},
		{
			`function NAME(args: string[]) { return show(args.length); }`, ``,
			`{"type":"object","properties":{"args":{"type":"array","items":{"type":"string"}}},"required":["args"]}`, `{"args":["a","b"]}`, `[2]`,
		},
		{
			`function NAME(params: { a: string } | { b: string }) { return show(params); }`, ``,
			`{"type":"object","properties":{"params":{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}]}},"required":["params"]}`,
			`{"params":{"b":"x"}}`, `[{"b":"x"}]`,
		},
		{
			`function NAME(city: string, options: { unit?: 'c' | 'f' } = {}) { return show(city, options.unit); }`, ``,
			`{"type":"object","properties":{"city":{"type":"string"},"options":{"type":"object","properties":{"unit":{"type":"string","enum":["c","f"]}}}},"required":["city"]}`,
			`{"city":"Paris","options":{"unit":"c"}}`, `["Paris","c"]`,
		},
		// Destructured.
		{
			`function NAME({ city, days = 3 }: Query, context: Given) { return show(city, days, context); }`, ``,
			`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"number","description":"How many.","default":3}},"required":["city"]}`, `{"city":"Paris","days":null}`, `["Paris",3,"ctx"]`,
		},
		{
			`const NAME = async ({ city, unit = 'c', list: [first] = [], 'x-y': z = { a: 1 } }, ctx) => show(city, unit, first, z, ctx);`, ``,
			`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","default":"c"},"list":{"type":"array","items":{"type":"string"}},"x-y":{"type":"object"}},"required":["city"]}`,
			`{"city":"Paris","list":["a"],"x-y":1}`, `["Paris","c","a",1,"ctx"]`,
		},
		{
			`function NAME(city: string, { unit = 'c' }: { unit?: string } = {}) { return show(city, unit); }`, ``,
			`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string","default":"c"}},"required":["city"]}`, `{"city":"Paris"}`, `["Paris","c"]`,
		},
		// Defaults and other values.
		{
			`function NAME(a, n = 3, flag = true, s = 'x, y)', list = [1], url = "http://x", sum = 5 * 60, o = { a: 1 }, last = -1) { return show(a, n, flag, s, list, url, sum, o, last); }`, ``,
			`{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"number","default":3},"flag":{"type":"boolean","default":true},"s":{"type":"string","default":"x, y)"},"list":{"type":"array","items":{"type":"number"}},"url":{"type":"string","default":"http://x"},"sum":{"type":"number"},"o":{"type":"object"},"last":{"type":"number","default":-1}},"required":["a"]}`,
			`{"a":"A","n":null,"flag":false}`, `["A",3,false,"x, y)",[1],"http://x",300,{"a":1},-1]`,
		},
		{
			`function NAME(cb = (z) => z + 1, b: string, r = /[,)]/, c: () => void, d = async function () {}, e = [1].map((x) => x)) { return show(cb(1), b, r.source, c, typeof d, e); }`, ``,
			`{"type":"object","properties":{"b":{"type":"string"},"r":{"type":"string"},"e":{"type":"array","items":{"type":"string"}}},"required":["b"]}`,
			`{"cb":"no","b":"B"}`, `[2,"B","[,)]","none","function",[1]]`,
		},
		{`const NAME = x => show(x);`, ``, `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`, `{"x":"X"}`, `["X"]`},
		{
			`const NAME = async (...words: string[]) => show(...words);`, ``,
			`{"type":"object","properties":{"words":{"type":"array","items":{"type":"string"}}}}`, `{"words":["a","b"]}`, `["a","b"]`,
		},
		{`const NAME = (...args) => show(...args);`, ``, `{"type":"object","properties":{}}`, `{"a":1}`, `[{"a":1},"ctx"]`},
		{
			`function NAME(when: Date, size: bigint, all: { day: Date }[]) { return show(when, size, all[0].day); }`, ``,
			`{"type":"object","properties":{"when":{"type":"string","format":"date-time"},"size":{"type":"integer","format":"int64"},"all":{"type":"array","items":{"type":"object","properties":{"day":{"type":"string","format":"date-time"}},"required":["day"]}}},"required":["when","size","all"]}`,
			`{"when":"1970-01-01T00:00:01Z","size":7,"all":[{"day":"1970-01-01T00:00:02Z"}]}`, `["Date 1000","7n","Date 2000"]`,
		},
		// As a FunctionTool, made before its signature is known.
		{
			`function NAME(city: string, days?: number) { return show(city, days); }`, `new FunctionTool(NAME)`,
			`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"number"}},"required":["city"]}`, `{"city":"Paris","days":null}`, `["Paris","none"]`,
		},
		{
			`const f_NAME = async (params: Query) => show(params.city);`, `new FunctionTool({ name: 'NAME', description: 'Gets it.', fn: f_NAME })`,
			`Gets it. {"type":"object","properties":{"city":{"type":"string"},"days":{"type":"number","description":"How many."}},"required":["city"]}`, `{"city":"Paris"}`, `["Paris"]`,
		},
	})
}

// With a declaration of the author's, a function takes the arguments by name or
// as one object.
func TestFunctionsWithDeclaration(t *testing.T) {
	declared := func(fn string) string {
		return `new FunctionTool({ name: 'NAME', description: 'D', fn: ` + fn + `, functionDeclaration: { name: 'NAME', description: 'D',
			parameters: { type: 'OBJECT', properties: { city_name: { type: 'STRING' }, type: { type: 'string', enum: ['STRING'] } }, required: ['city_name'] } } })`
	}
	const want = `D {"type":"object","properties":{"city_name":{"type":"string"},"type":{"type":"string","enum":["STRING"]}},"required":["city_name"]}`
	args := `{"type":"T","city_name":"Paris"}`
	var all []functionTool
	for _, c := range [][2]string{
		{`async (params, context) => show(params.city_name, context)`, `["Paris","ctx"]`},
		{`async (params) => show(params.city_name)`, `["Paris"]`},
		{`async function (params: Record<string, any>, tc) { return show(params.type, tc); }`, `["T","ctx"]`},
		{`({ city_name, type }, tc) => show(city_name, type, tc)`, `["Paris","T","ctx"]`},
		{`(city_name, type) => show(city_name, type)`, `["Paris","T"]`},
		{`(type, city_name, tc) => show(type, city_name, tc)`, `["T","Paris","ctx"]`},
		{`(cityName, tc) => show(cityName, tc)`, `["Paris","ctx"]`},
		{`(city_name, days = 3) => show(city_name, days)`, `["Paris",3]`},
		{`city_name => show(city_name)`, `["Paris"]`},
		{`plain`, `["Paris","T"]`},
		{`(input) => show(input)`, `[{"type":"T","city_name":"Paris"}]`},
		{`(ctx) => show(ctx)`, `["ctx"]`},
		{`() => show()`, `[]`},
		{`show`, `[{"type":"T","city_name":"Paris"},"ctx"]`},
	} {
		all = append(all, functionTool{tool: declared(c[0]), declares: want, args: args, returns: c[1]})
	}
	checkTools(t, "index.ts", `import { LlmAgent, FunctionTool } from 'adk-typescript';
const city_name = 1, type = 2, params = 3;
console.debug(city_name, type, params);
function plain(place: string, kind: string) { return show(place, kind); }
`, all)
}

// In JavaScript, comments have the types.
func TestFunctionsOfJavaScript(t *testing.T) {
	checkTools(t, "index.mjs", "import { LlmAgent } from 'adk-typescript';\n", []functionTool{
		{
			`/**
		   * Gets it.
		   * @param {string} city - Where.
		   * @param {number} [days=3] - How long.
		   * @param {ToolContext} given
		   */
		  async function NAME(city, days = 3, given) { return show(city, days, given); }`, ``,
			`Gets it. {"type":"object","properties":{"city":{"type":"string","description":"Where."},"days":{"type":"number","description":"How long.","default":3}},"required":["city"]}`,
			`{"city":"Paris"}`, `["Paris",3,"ctx"]`,
		},
		{
			`/**
		   * @param {Object} p
		   * @param {string} p.city - Where.
		   * @param {string[]} [p.units]
		   */
		  const NAME = ({ city, units, days = 1 }, ctx) => show(city, units, days, ctx);`, ``,
			`{"type":"object","properties":{"city":{"type":"string","description":"Where."},"units":{"type":"array","items":{"type":"string"}},"days":{"type":"number","default":1}},"required":["city"]}`,
			`{"city":"Paris","units":["c"]}`, `["Paris",["c"],1,"ctx"]`,
		},
		{`function NAME(city, unit) { return show(city, unit); }`, ``, cityAndUnit, `{"city":"Paris","unit":"c"}`, `["Paris","c"]`},
		{`function NAME(params, context) { return show(params.city, params?.unit, context); }`, ``, cityAndUnit, `{"city":"Paris","unit":"c"}`, `["Paris","c","ctx"]`},
	})
}

// Two functions of one name get different names in the bundle, and parameters
// that are called like something else get others as well. No model sees that.
func TestFunctionNamesOutliveTheBundler(t *testing.T) {
	tool := func(name string) string {
		return `const days = 3;
/** Gets ` + name + `. */
export async function get(city: string, days: number) { return { city, days: days ?? 0, from: '` + name + `' }; }
export const unused = days;
`
	}
	o := loadTools(t, map[string]string{
		"index.ts": `import { LlmAgent, FunctionTool } from 'adk-typescript';
import { get, unused as city } from './tools/one';
import getOther, { arrow } from './tools/two';
console.debug(city);
export const rootAgent = new LlmAgent({ name: 'root', model: 'm', tools: [new FunctionTool(get), getOther, arrow] });`,
		"tools/one.ts": tool("one"),
		"tools/two.ts": strings.Replace(tool("two"), "export async function get", "export default async function other", 1) + `
function get(city: string) { return city; }
/** Does it. */
export const arrow = (city: string) => ({ city: get(city) });`,
	})
	got := fmt.Sprint(o.declared(t))
	const schema = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"number"}},"required":["city","days"]}`
	if want := fmt.Sprint(map[string]string{"get": "Gets one. " + schema, "other": "Gets two. " + schema, "arrow": "Does it. " + cityOnly}); got != want {
		t.Errorf("declared %s\n    want %s", got, want)
	}
	if got := o.call(t, "get", `{"days":2,"city":"Rome"}`); got != `{"city":"Rome","days":2,"from":"one"}` {
		t.Error(got)
	}
}
