package script_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
)

// load starts an application that is this code.
func load(t *testing.T, models says, code string) (*host, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return serve(t, dir, models)
}

// What cannot be used says so when it is used, by its name and with what to do
// instead; and whoever wrote something wrong is told what.
func TestAgentsRefusals(t *testing.T) {
	const (
		google = "import * as adk from '@google/adk';\nconst { LlmAgent } = adk;\n"
		agent  = "export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash', "
	)
	for name, c := range map[string]struct{ code, want string }{
		"a constant as a tool": {"import { GOOGLE_SEARCH, LlmAgent } from '@google/adk';" + agent + "tools: [GOOGLE_SEARCH] });", `The agent "a" has a tool that cannot be used: GOOGLE_SEARCH is not supported by this runtime: search with fetch`},
		"a toolset":            {"import { MCPToolset, LlmAgent } from '@google/adk';" + agent + "tools: [new MCPToolset({ type: 'StdioConnectionParams', serverParams: { command: 'x' } })] });", "MCPToolset is not supported by this runtime: write the tools as FunctionTool"},
		"a static method":      {"import { MCPToolset } from 'adk-typescript/tools'; await MCPToolset.fromServer({});", "MCPToolset is not supported"},
		"a service":            {google + "new adk.DatabaseSessionService('sqlite://');", "DatabaseSessionService is not supported by this runtime: sessions, artifacts and memory are kept by the server"},
		"a function":           {google + "await adk.loadSkillFromDir('x');", "loadSkillFromDir is not supported by this runtime: load the text of a skill"},
		"a base class":         {google + "class P extends adk.BasePlugin { constructor() { super('p'); } }\nnew P();", "BasePlugin is not supported by this runtime: use the callbacks"},
		"a model":              {"import { LiteLlm, LlmAgent } from 'adk-typescript'; export const agent = new LlmAgent({ name: 'a', model: LiteLlm as any });", "LiteLlm is not supported by this runtime: extend BaseLlm"},
		"an unknown name":      {"import { NewThing } from '@google/adk'; NewThing.create();", "NewThing is not supported by this runtime: it is no name of @google/adk"},
		"an unknown enum":      {"import { AudioTranscription } from '@google/genai'; console.log(AudioTranscription.FULL);", "AudioTranscription is not supported by this runtime: it is no name of @google/genai"},
		"the genai client":     {"import { GoogleGenAI } from '@google/genai'; new GoogleGenAI({});", "GoogleGenAI is not supported by this runtime: use new Gemini"},
		"confirmation":         {google + agent + "tools: [new adk.FunctionTool({ name: 'f', description: 'd', execute: () => 1, requireConfirmation: true })] });", `The tool "f" has requireConfirmation, which is not supported by this version: use a long-running tool`},
		"an option":            {google + agent + "codeExecutor: {} as any });", `The option codeExecutor of the agent "a" is not supported by this version: run the code in a tool`},
		"plugins":              {google + "export const app = new adk.App({ name: 'x', rootAgent: new LlmAgent({ name: 'a' }), plugins: [{} as any] });", `The plugins of the App "x" are not supported`},
		"a replaced loop":      {google + "class Mine extends LlmAgent { async *runAsyncImpl() {} }\nexport const rootAgent = new Mine({ name: 'a', model: 'gemini-2.5-flash' });", `The agent "a" is of a class that replaces runAsyncImpl of LlmAgent`},
		"a forbidden setting":  {google + agent + "generateContentConfig: { systemInstruction: 'x' } });", "generateContentConfig.systemInstruction is not allowed"},
		"no agent":             {google + "export const answer = 42;", "No agent is exported: export the root agent as rootAgent"},
		"several agents":       {google + "export const one = new LlmAgent({ name: 'one' }), two = new LlmAgent({ name: 'two' });", "Several agents are exported (one, two): export the root as rootAgent"},
		"a bad name":           {google + "new LlmAgent({ name: 'two words' });", `Found invalid agent name: "two words"`},
		"the user's name":      {google + "new LlmAgent({ name: 'user' });", "Agent name cannot be 'user'"},
		"two parents":          {google + "const a = new LlmAgent({ name: 'a' });\nfor (const name of ['b', 'c']) new LlmAgent({ name, subAgents: [a] });", `Agent "a" already has a parent agent, current parent: "b", trying to add: "c"`},
		"nothing as a tool":    {google + agent + "tools: [undefined as any] });", `The agent "a" has undefined among its tools`},
		"a number as a tool":   {google + agent + "tools: [1 as any] });", "something among its tools that is none: number"},
		"a number as a model":  {google + "export const rootAgent = new LlmAgent({ name: 'a', model: 1 as any });", "The model of an agent must be a name or an object"},
		"a nameless tool":      {google + "new adk.FunctionTool({ description: 'd', execute: (() => () => 1)() });", "Tool name cannot be empty"},
		"a tool that is none":  {google + "new adk.FunctionTool({ name: 'f', description: 'd' } as any);", "A FunctionTool needs a function: give it as execute"},
		"an AgentTool of none": {google + "new adk.AgentTool({ agent: {} as any });", "An AgentTool needs an agent"},
		"an unknown model":     {google + "export const rootAgent = new LlmAgent({ name: 'a', model: 'mystery-1' });", "the agent a: no model is called mystery-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, says{flash: "Hi."}, c.code)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Names that cannot be used may be imported, mentioned and asked for, because
// files import more than they use.
func TestAgentsImportsWithoutUse(t *testing.T) {
	h, err := load(t, says{flash: "Hi."}, `
import { BasePlugin, DatabaseSessionService, GOOGLE_SEARCH, LlmAgent, MCPToolset, RemoteA2AAgent, Workflow, type Skill, PolicyCheckResult } from '@google/adk';
import { LangchainTool, AgentEvaluator, googleSearch } from 'adk-typescript';
import { GoogleGenAI, Content } from '@google/genai';
import * as all from '@google/adk';

const tools = { GOOGLE_SEARCH, googleSearch, MCPToolset };
class Mine extends BasePlugin {}
const isRemote = (value: unknown) => value instanceof RemoteA2AAgent;
const content: Content = { role: 'user', parts: [] };
const check = (r?: PolicyCheckResult, s?: Skill) => [r, s, DatabaseSessionService, Workflow, LangchainTool, AgentEvaluator, GoogleGenAI].length;
export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash', instruction: String([typeof tools, Mine.name, isRemote({}), content.role, check(), 'then' in all, 'LlmAgent' in all]) });
`)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "Hello"), false) {
		if err != nil || ev.Content.Text() != "Hi." {
			t.Errorf("event %v, error %v", ev, err)
		}
	}
}

// What a context cannot do is refused where it is asked for, and the run goes
// on.
func TestAgentsRefusalsInARun(t *testing.T) {
	h, err := load(t, says{flash: `
		call ask{"for":"requestCredential"} & ask{"for":"requestConfirmation"} & ask{"for":"searchMemory"} & ask{"for":"loadArtifact"} & ask{"for":"getAuthResponse"}
		Well.`}, `
import { AgentTool, BaseAgent, FunctionTool, LlmAgent, SequentialAgent } from '@google/adk';

const ask = new FunctionTool({ name: 'ask', description: 'Asks.', parameters: { type: 'OBJECT' as any }, execute: async (args: any, context: any) => (await context[args.for]({})) ?? 'nothing' });
class Dynamic extends BaseAgent {
  async *runAsyncImpl(ctx: any): AsyncGenerator<any> {
    yield* new LlmAgent({ name: 'made_just_now', model: 'gemini-2.5-flash' }).runAsync(ctx);
  }
}
export const rootAgent = new SequentialAgent({ name: 's', subAgents: [new LlmAgent({ name: 'a', model: 'gemini-2.5-flash', tools: [ask] }), new Dynamic({ name: 'd' })] });
`)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "Ask"), false) {
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		all = append(all, lineOf(ev))
	}
	story := strings.Join(all, "\n")
	for _, want := range []string{
		"requestCredential is not supported by this version: give the tool its credential",
		"requestConfirmation is not supported by this version: use a long-running tool",
		"Memory service is not initialized. searchMemory", "Artifact service is not initialized. loadArtifact",
		`ask returned {"result":"nothing"}`, "a: Well.",
		"the agent made_just_now is not a part of the application: list it in subAgents",
	} {
		if !strings.Contains(story, want) {
			t.Errorf("no %q in:\n%s", want, story)
		}
	}
}
