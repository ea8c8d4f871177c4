package script

import "testing"

// Agents that code makes for one run go with it, however it ends. Each of these
// holds 1 MB, so an engine has no room for all of them.
func TestAgentsOfARunEnd(t *testing.T) { onEngines(t, testAgentsOfARunEnd) }

func testAgentsOfARunEnd(t *testing.T, on func(*Options)) {
	t.Helper()
	t.Parallel()
	limits := generous
	limits.Memory = 32 << 20
	for name, agent := range map[string]string{
		"tool":        `new LlmAgent({ ...of('a'), tools: [uses(load)] })`,
		"callback":    `new LlmAgent({ ...of('a'), tools: [uses()], beforeAgentCallback: () => void load.length })`,
		"instruction": `new LlmAgent({ ...of('a'), tools: [uses()], instruction: () => 'Be ' + load.length })`,
		"sub-agent":   `new LlmAgent({ ...of('a'), tools: [uses()], subAgents: [new LlmAgent({ ...of('b'), tools: [uses(load)] })] })`,
		"agent tool":  `new LlmAgent({ ...of('a'), tools: [new AgentTool({ agent: new LlmAgent({ ...of('use'), tools: [uses(load)] }) })] })`,
		"own toolset": `new LlmAgent({ ...of('a'), tools: [new Own(load)] })`,
		"model":       `new LlmAgent({ name: 'a', model: new Model(load) })`,
		"custom":      `new Echo(load)`,
		"failure":     `new LlmAgent({ ...of('a'), subAgents: [new LlmAgent({ ...of('b'), tools: [uses(load)] })], tools: [undefined] })`,
		"plugin":      `new App({ name: 'app', rootAgent: new LlmAgent({ ...of('a'), tools: [uses()] }), plugins: [new Plugin(load)] })`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apps := loadApps(t, write(t, map[string]string{"index.ts": appOf(`import { AgentTool, App, BaseAgent, BaseLlm, BasePlugin, BaseToolset, InMemoryRunner, createEvent } from '@google/adk';
const of = (name: string) => ({ name, description: name, model: 'scripted' });
const uses = (load?: any) => new FunctionTool({ name: 'use', description: 'use', execute: () => load?.length ?? 0 });
const said = { role: 'model', parts: [{ text: 'done' }] };
class Own extends BaseToolset {
  constructor(private load: any) { super([]); }
  async getTools() { return [uses(this.load)]; }
}
class Model extends BaseLlm {
  constructor(private load: any) { super({ model: 'own' }); }
  async *generateContentAsync() { yield { content: said }; }
}
class Echo extends BaseAgent {
  constructor(private load: any) { super({ name: 'echo' }); }
  async *runAsyncImpl() { yield createEvent({ author: 'echo', content: said }); }
}
class Plugin extends BasePlugin {
  constructor(private load: any) { super('plugin'); }
  async beforeRunCallback() { return undefined; }
}
`, `runs: async () => {
	let ended = 0;
	for (let i = 0; i < 64; i++) {
		const load = new Uint8Array(1 << 20);
		const made: any = `+agent+`;
		const runner = new InMemoryRunner(made.rootAgent && made.plugins ? { app: made } : { agent: made });
		try {
			for await (const event of runner.runEphemeral({ userId: 'ann', newMessage: { role: 'user', parts: [{ text: 'use' }] } })) {
				if (event.content.parts[0].text === 'done') ended++; // to the end: what is left early goes a moment later
			}
		} catch (error: any) {
			if (!error.message.includes('undefined among its tools')) throw error;
			ended++;
		}
	}
	return ended;
}`)}), on, func(o *Options) { o.Limits = &limits })
			if got := result(t, rootOf(t, apps, "app"), "runs"); got != `{"result":64}` {
				t.Errorf("of the runs, %s", got)
			}
		})
	}
}
