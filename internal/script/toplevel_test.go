package script

import "testing"

// A module may run agents before it is loaded.
func TestRunnerAtTopLevel(t *testing.T) {
	apps := loadApps(t, write(t, map[string]string{"index.ts": `import { FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk';
const look = new FunctionTool({ name: 'look', description: '?', execute: async () => ({ seen: 'sea' }) });
const other = new LlmAgent({ name: 'other', model: 'scripted', tools: [look] });
const runner = new InMemoryRunner({ agent: other, appName: 'x' });
const session = await runner.sessionService.createSession({ appName: 'x', userId: 'u' });
const seen: unknown[] = [];
for await (const event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage: { role: 'user', parts: [{ text: 'look' }] } })) {
  seen.push(event.content?.parts?.map((p) => p.functionCall?.name ?? p.functionResponse?.response ?? p.text));
}
const fine = new FunctionTool({ name: 'fine', description: '?', execute: () => seen });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [fine] });
`}))
	if got, want := result(t, rootOf(t, apps, "app"), "fine"), `{"results":[["look"],[{"seen":"sea"}],["done"]]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A run that its caller aborts ends without an error.
func TestAbortedRunner(t *testing.T) {
	apps := loadApps(t, write(t, map[string]string{"index.ts": `import { BuiltInPlanner, FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk';
let begun: () => void;
const waits = new Promise<void>((go) => (begun = go));
const look = new FunctionTool({ name: 'look', description: '?', execute: () => (begun(), new Promise(() => {})) });
const other = new LlmAgent({ name: 'other', model: 'scripted', tools: [look], planner: new BuiltInPlanner({ includeThoughts: true } as any) });
const runner = new InMemoryRunner({ agent: other, appName: 'x' });
const run = async (during: (abort: AbortController, seen: number) => void) => {
  const session = await runner.sessionService.createSession({ appName: 'x', userId: 'u' });
  const abort = new AbortController();
  during(abort, 0);
  let seen = 0;
  for await (const event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage: { role: 'user', parts: [{ text: 'look' }] }, abortSignal: abort.signal })) {
    during(abort, ++seen);
  }
  return seen;
};
const fine = new FunctionTool({ name: 'fine', description: '?', execute: async () => [
  await run((abort) => abort.abort()),
  await run((abort, seen) => seen === 1 && abort.abort()),
  await run((abort, seen) => seen === 1 && waits.then(() => abort.abort(new Error('enough')))),
] });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [fine] });
`}))
	if got, want := result(t, rootOf(t, apps, "app"), "fine"), `{"results":[0,1,1]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
