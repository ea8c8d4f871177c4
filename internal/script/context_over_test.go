package script

import "testing"

// A write after the end of the call must fail, since it would not be stored.
func TestWritingWhenTheCallIsOver(t *testing.T) {
	apps, _ := loadLogged(t, map[string]string{"index.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
let said = [];
const attempt = (f) => { try { f(); return 'kept'; } catch (e) { return e.message; } };
const later = new FunctionTool({ name: 'later', description: 'd', execute: async (_, { state }) => {
  said.push(attempt(() => state.set('a', 1)));
  setTimeout(() => said.push(attempt(() => state.set('a', 2)), attempt(() => { state.b = 1; }), state.get('a')));
  return 'done';
} });
const fine = new FunctionTool({ name: 'fine', description: 'd', execute: async () => { while (said.length < 4) await new Promise((r) => setTimeout(r, 1)); return said; } });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [later, fine] });`})
	root := rootOf(t, apps, "app")
	result(t, root, "later")
	want := `{"results":["kept","the call that this context belongs to is over","the call that this context belongs to is over",1]}`
	if got := result(t, root, "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
