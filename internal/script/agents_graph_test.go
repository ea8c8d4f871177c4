package script_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// Nodes write what the stateSchema of their workflow declares, or their own.
func TestGraphStateSchema(t *testing.T) {
	t.Parallel()
	const head = `
import { FunctionTool, Workflow, createEvent, node } from '@google/adk';
import { z } from 'zod';
const stateSchema = z.object({ count: z.number(), names: z.array(z.string()).optional() });
const root = (fn: any, more: any = {}) => new Workflow({ name: 'root', stateSchema, edges: [['START', node(fn, { name: 'n', ...more })]] });
`
	for code, want := range map[string]string{
		"root((ctx) => { ctx.state.set('count', 1); ctx.state.set('user:x', 'any'); ctx.state.append('names', 'a'); ctx.state.delete('count'); return 'fine'; })": "fine",
		"root((ctx) => { ctx.state.set('count', 'one'); })":                                                                    "Value for 'count' does not match the type declared in the state schema",
		"root((ctx) => { ctx.state.other = 1; })":                                                                              `Key 'other' is not declared in the state schema. Declared fields: ["count","names"]`,
		"root((ctx) => { ctx.state.update({ count: 1, other: 1 }); })":                                                         "Key 'other' is not declared",
		"root((ctx) => { ctx.state.append('names', 1); })":                                                                     "Value for 'names' does not match",
		"root(function* () { yield createEvent({ actions: { stateDelta: { other: 1 } } } as any); })":                          "Key 'other' is not declared",
		"root((ctx) => { ctx.emit(createEvent({ actions: { stateDelta: { other: 1 } } } as any)); })":                          "Key 'other' is not declared",
		"root((ctx) => { ctx.state.mine = 1; return 'fine'; }, { stateSchema: z.object({ mine: z.number() }) })":               "fine",
		"root((ctx) => ctx.runNode(node((inner) => { inner.state.other = 1; }, { name: 'inner' })))":                           "Key 'other' is not declared",
		"root(new Workflow({ name: 'inner', edges: [['START', node((ctx) => { ctx.state.other = 1; }, { name: 'deep' })]] }))": "Key 'other' is not declared",
		"new Workflow({ name: 'root', stateSchema, edges: [['START', node(() => ({}), { name: 'args' }), new FunctionTool({ name: 'tool', description: '', execute: (_, ctx) => { ctx.state.set('other', 1); } })]] })": "Key 'other' is not declared",
		"new Workflow({ name: 'root', stateSchema, dynamicEntry: (ctx) => { ctx.state.other = 1; } })":                                                                                                                  "Key 'other' is not declared",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			h, err := load(t, says{}, head+"export const rootAgent = "+strings.ReplaceAll(strings.ReplaceAll(code, "(ctx)", "(ctx: any)"), "(inner)", "(inner: any)")+";")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "go"), false) {
				if err != nil {
					got = append(got, err.Error())
					continue
				}
				got = append(got, ev.ErrorMessage, said(ev.Content))
			}
			if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%s\ngot  %q\nwant %q\n%s", code, got, want, h.log)
			}
		})
	}
}

// Settings of nodes that nothing checks are named in the log.
func TestGraphIdleOptions(t *testing.T) {
	t.Parallel()
	h, err := load(t, says{flash: "Hi."}, `
import { FunctionNode, FunctionTool, JoinNode, LlmAgent, Workflow, node } from '@google/adk';
import { z } from 'zod';
const schema = z.object({ a: z.number() });
const genai = { type: 'OBJECT', properties: {} } as any;
const fn = new FunctionNode('fn', () => 1, { inputSchema: genai, outputSchema: schema });
const agent = new LlmAgent({ name: 'agent', model: 'gemini-2.5-flash', inputSchema: genai, outputSchema: schema });
const tool = node(new FunctionTool({ name: 'tool', description: '', execute: () => 1 }), { inputSchema: schema, outputSchema: genai });
const inner = new Workflow({ name: 'inner', outputSchema: schema, edges: [['START', node(() => 1, { name: 'deep' })]] });
export const rootAgent = new Workflow({ name: 'root', stateSchema: schema, edges: [['START', fn, [agent, tool, inner], new JoinNode({ name: 'join', outputSchema: schema })]] });`)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`The inputSchema of the node \"fn\" has no effect in this version: only schemas of zod are checked`,
		`The inputSchema of the node \"agent\" has no effect`,
		`The outputSchema of the node \"tool\" has no effect`,
		`The outputSchema of the node \"inner\" has no effect`,
		`The outputSchema of the node \"join\" has no effect`,
	} {
		h.log.await(t, line)
	}
	for _, line := range []string{`The outputSchema of the node \"fn\"`, `The outputSchema of the node \"agent\"`, `The stateSchema of the node \"fn\"`, `The stateSchema of the node \"agent\"`, `The inputSchema of the node \"tool\"`, `The stateSchema of the node \"tool\"`, `The stateSchema of the node \"inner\"`} {
		if strings.Contains(h.log.String(), line) {
			t.Errorf("the log has %s:\n%s", line, h.log)
		}
	}
}

// A tool that is a node may wait for the user.
func TestGraphToolWaits(t *testing.T) {
	t.Parallel()
	const head = `
import { FunctionTool, LongRunningFunctionTool, ToolNode, Workflow, node } from '@google/adk';
const root = (tool: any) => new Workflow({ name: 'root', edges: [['START', node(() => ({}), { name: 'args' }), new ToolNode(tool), node((_: any, input: any) => 'got ' + JSON.stringify(input), { name: 'end' })]] });
`
	for code, turn := range map[string]struct{ answer, want string }{
		"new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' })":                                                                                                               {`{"confirmed":true}`, `got {"result":"paid"}`},
		"new FunctionTool({ name: 'pay', description: '', execute: (_: any, ctx: any) => { if (ctx.toolConfirmation) return { by: ctx.toolConfirmation.payload }; ctx.requestConfirmation({ hint: 'Who?' }); return 1; } })": {`{"confirmed":true,"payload":"me"}`, `got {"by":"me"}`},
		"new LongRunningFunctionTool({ name: 'order', description: '', execute: () => ({ ticket: 1 }) })":                                                                                                                    {`{"number":3}`, `got {"number":3}`},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			h, err := load(t, says{}, head+"export const rootAgent = root("+code+");")
			if err != nil {
				t.Fatal(err)
			}
			message := event.Text(event.RoleUser, "go")
			var last string
			for range 2 {
				for ev, err := range h.send(t.Context(), message, false) {
					if err != nil {
						t.Fatal(err)
					}
					if len(ev.LongRunningToolIDs) > 0 {
						call := ev.FunctionCalls()[0]
						message = &event.Content{Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: []byte(turn.answer)}}}}
					}
					last = said(ev.Content) + ev.ErrorMessage
				}
			}
			if strings.TrimSpace(last) != turn.want {
				t.Errorf("it ends with %q, want %q", last, turn.want)
			}
		})
	}
}

// The function of a node with an authConfig runs when the user has logged in.
func TestGraphLogsIn(t *testing.T) {
	t.Parallel()
	h, err := load(t, says{}, `
import { AuthCredentialTypes, Workflow, node } from '@google/adk';
const authConfig: any = {
  authScheme: { type: 'apiKey', in: 'header', name: 'X-Key' },
  rawAuthCredential: { authType: AuthCredentialTypes.API_KEY, apiKey: 'placeholder' },
  credentialKey: 'weather',
};
let calls = 0;
const fetch = node((ctx: any) => {
  const found = ctx.state.get('temp:weather');
  return [++calls, found.authType, found.apiKey.slice(-4), ctx.getAuthResponse(authConfig) === found, JSON.stringify(ctx.resumeInputs).includes('1234')].join();
}, { name: 'fetch', authConfig });
const after = node((ctx: any, input: string) => input + ' ' + ctx.state.get('temp:weather', 'none'), { name: 'after' });
export const rootAgent = new Workflow({ name: 'root', edges: [['START', fetch, after]] });`)
	if err != nil {
		t.Fatal(err)
	}
	talk := func(message *event.Content) (last string, call *event.FunctionCall) {
		t.Helper()
		for ev, err := range h.send(t.Context(), message, false) {
			if err != nil {
				t.Fatal(err)
			}
			if doc := toJSON(ev); strings.Contains(doc, "key-1234") || strings.Contains(doc, "placeholder") {
				t.Errorf("the event has a key: %s", doc)
			}
			if len(ev.LongRunningToolIDs) > 0 {
				call = ev.FunctionCalls()[0]
			}
			last = strings.TrimSpace(said(ev.Content) + ev.ErrorMessage)
		}
		return last, call
	}
	last, call := talk(event.Text(event.RoleUser, "go"))
	if call == nil || !tool.IsCredentialCall(call.Name) {
		t.Fatalf("it does not ask: %q\n%s", last, h.log)
	}
	answer := &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: []byte(`{"result":"key-1234"}`)}
	if last, call = talk(&event.Content{Parts: []*event.Part{{FunctionResponse: answer}}}); call != nil || last != "1,apiKey,1234,true,false none" {
		t.Errorf("it ends with %q and the call %v\n%s", last, call, h.log)
	}
	if last, call = talk(event.Text(event.RoleUser, "again")); call != nil || last != "2,apiKey,1234,true,false none" {
		t.Errorf("the next run ends with %q and the call %v", last, call)
	}
}
