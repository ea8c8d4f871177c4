package script_test

import (
	"fmt"
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

// The use of something unsupported fails with its name and with what to do instead,
// and a mistake in an agent's code with what is wrong.
func TestAgentsRefusals(t *testing.T) {
	uses := []struct{ code, want string }{
		{"new adk.MCPTool({}, {})", "An MCPTool comes from an MCPToolset"},
		{"new adk.MCPSessionManager({})", "MCPSessionManager is not supported by this runtime: use MCPToolset"},
		{"new adk.VertexAiSearchTool({})", "A VertexAiSearchTool needs one of dataStoreId and searchEngineId"},
		{"await adk.GOOGLE_SEARCH.runAsync({ args: {} })", `The tool "google_search" is run by the model`},
		{"new adk.DatabaseSessionService('sqlite://')", "DatabaseSessionService is not supported by this runtime: sessions, artifacts and memory are kept by the server"},
		{"await adk.loadSkillFromDir('x')", "There is no SKILL.md in "},
		{"await adk.loadSkillFromDir('../x')", "There is no SKILL.md in "},
		{"adk.loadSkillFromZipBuffer(Buffer.from('x'))", "read the archive of a skill: "},
		{"new adk.GCPSkillRegistry()", "GCPSkillRegistry is not supported by this runtime: give a SkillToolset a registry of your own"},
		{"new (class P extends adk.BasePlugin {})()", "A plugin needs a name"},
		{"adk.NewThing.create()", "NewThing is not supported by this runtime: this version has nothing of that name for @google/adk"},
		{"genai.AudioTranscription.FULL", "AudioTranscription is not supported by this runtime: this version has nothing of that name for @google/genai"},
		{"new genai.GoogleGenAI({ vertexai: true, project: 'p' })", "GoogleGenAI with Vertex AI needs an API key in this runtime"},
		{"await new genai.GoogleGenAI({}).models.generateContent({ model: 'm', contents: 'x' })", "GoogleGenAI needs an API key: set GOOGLE_GENAI_API_KEY"},
		{"new genai.GoogleGenAI({}).live.connect({})", "GoogleGenAI.live is not supported by this runtime: call the service with fetch"},
		{"new adk.UnsafeLocalCodeExecutor()", "UnsafeLocalCodeExecutor is not supported by this runtime: it would run the code of a model with everything that the server may do: use ContainerCodeExecutor"},
		{"await new (class Mine extends adk.BaseCodeExecutor {})().executeCode({})", "Mine has no executeCode"},
		{"new adk.BuiltInCodeExecutor().processLlmRequest({ model: 'claude-4' })", "Gemini code execution tool is not supported for model claude-4"},
		{"new adk.AnchoredContextCompactor({ tokenThreshold: 5 })", "AnchoredContextCompactor needs a summarizer, such as new LlmSummarizer({ llm })"},
		{"new adk.AgentControlledContextCompactor({})", "AgentControlledContextCompactor needs a summarizer"},
		{"new adk.TrajectoryThoughtPruningCompactor({ eventRetentionSize: -1 })", "TrajectoryThoughtPruningCompactor needs eventRetentionSize, an integer that is not negative"},
		{"new adk.GcsArtifactService('bucket')", "GcsArtifactService is not supported by this runtime: the server keeps artifacts, where its --artifact_service_uri says"},
		{"new adk.PluginManager()", "PluginManager is not supported by this runtime: give the plugins to an App"},
		{"new adk.LlmAgent({ name: 'a', generateContentConfig: { systemInstruction: 'x' } })", "generateContentConfig.systemInstruction is not allowed"},
		{"new adk.LlmAgent({ name: 'two words' })", `Found invalid agent name: "two words"`},
		{"new adk.LlmAgent({ name: 'user' })", "Agent name cannot be 'user'"},
		{"new adk.LlmAgent({ name: 'a', subAgents: [rootAgent.subAgents[0]] })", `Agent "child" already has a parent agent, current parent: "root", trying to add: "a"`},
		{"new adk.FunctionTool({ description: 'd', execute: (() => () => 1)() })", "Tool name cannot be empty"},
		{"new adk.FunctionTool({ name: 'f', description: 'd' })", "A FunctionTool needs a function: give it as execute"},
		{"new adk.AgentTool({ agent: {} })", "An AgentTool needs an agent"},
		{"new adk.LlmAgent({ name: 'a' }).canonicalModel", "No model found for a."},
		{"await rootAgent.runAsync(undefined).next()", "the agent root can be run by a custom agent only"},
	}
	var code strings.Builder
	code.WriteString(`
import * as adk from '@google/adk';
import * as genai from '@google/genai';
import * as ts from 'adk-typescript';
export const rootAgent = new adk.LlmAgent({ name: 'root', model: 'gemini-2.5-flash', subAgents: [new adk.LlmAgent({ name: 'child' })] });
const said: string[] = [];
const attempt = async (use: () => Promise<unknown>) => said.push(await use().then(() => 'it works', (error) => error.message));
`)
	for _, u := range uses {
		fmt.Fprintf(&code, "await attempt(async () => { %s; });\n", u.code)
	}
	code.WriteString("rootAgent.instruction = () => said.join('\\n');")
	h, err := load(t, says{flash: "tell instruction"}, code.String())
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "Well?"), false) {
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range strings.Split(ev.Content.Text(), "\n") {
			if !strings.Contains(got, uses[i].want) {
				t.Errorf("%s: %q, want %q", uses[i].code, got, uses[i].want)
			}
		}
	}
}

// What is wrong with the whole of an application shows when it is loaded.
func TestAgentsThatDoNotLoad(t *testing.T) {
	t.Parallel()
	const tools = "export const rootAgent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', tools: [%s] });"
	for code, want := range map[string]string{
		fmt.Sprintf(tools, "adk.UnsafeLocalCodeExecutor"):                                                                                                                      `The agent "a" has a tool that cannot be used: UnsafeLocalCodeExecutor is not supported by this runtime: it would run the code of a model`,
		"export const agent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', codeExecutor: {} });":                                                                   `The codeExecutor of the agent "a" has no executeCode: extend BaseCodeExecutor`,
		"export const agent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', codeExecutor: adk.AgentEngineSandboxCodeExecutor });":                                   "AgentEngineSandboxCodeExecutor is not supported by this runtime: use ContainerCodeExecutor",
		fmt.Sprintf(tools, "new adk.MCPToolset({})"):                                                                                                                           "mcp: the connection parameters need a type",
		fmt.Sprintf(tools, "new adk.MCPToolset({ url: 'ftp://x' })"):                                                                                                           "should be an address that begins with https://",
		fmt.Sprintf(tools, "new adk.MCPToolset({ command: 'x', cwd: './gone' })"):                                                                                              `the cwd "./gone" of the server is not a directory`,
		fmt.Sprintf(tools, "adk.Misspelt"):                                                                                                                                     `The agent "a" has a tool that cannot be used: Misspelt is not supported`,
		fmt.Sprintf(tools, "undefined"):                                                                                                                                        `The agent "a" has undefined among its tools`,
		fmt.Sprintf(tools, "1"):                                                                                                                                                "something among its tools that is not a tool: number",
		fmt.Sprintf(tools, "new adk.AgentTool({ agent: new adk.LlmAgent({ name: 'b' }), requireConfirmation: () => true })"):                                                   `requireConfirmation of the AgentTool "b" must be true or false`,
		"export const agent = new adk.LlmAgent({ name: 'a', model: adk.ApigeeLlm });":                                                                                          "ApigeeLlm is not supported by this runtime: use LiteLlm",
		"export const agent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', contextCompactors: [{ shouldCompact: () => true }] });":                                 `The agent "a" has a compactor of its own kind: use one of the package`,
		"export const agent = new adk.LlmAgent({ name: 'a', model: 1 });":                                                                                                      "The model of an agent must be a name or an object",
		"export const agent = new adk.LlmAgent({ name: 'a', model: 'mystery-1' });":                                                                                            "the agent a: no model is called mystery-1",
		"export const agent = new (class extends adk.LlmAgent { async *runAsyncImpl() {} })({ name: 'a' });":                                                                   `The agent "a" is of a class that replaces runAsyncImpl of LlmAgent`,
		"export const rootAgent = adk.LlmAgent;":                                                                                                                               "rootAgent is the class LlmAgent: export an agent, which new makes of it",
		"export default class Mine extends adk.BaseAgent {}":                                                                                                                   "default is the class Mine: export an agent",
		"export const rootAgent = () => new adk.LlmAgent({ name: 'a' });":                                                                                                      "rootAgent is a function: export the agent that it returns",
		"export const rootAgent = adk.RemoteAgent;":                                                                                                                            "RemoteAgent is not supported by this runtime",
		"export const rootAgent = new adk.RemoteA2AAgent({ name: 'a' });":                                                                                                      `The agent "a" needs an agentCard`,
		"export const rootAgent = new adk.RemoteA2AAgent({ name: 'a', agentCard: 'https://x.example', client: {} });":                                                          `The option client of the agent "a" is not supported by this runtime: give it an agentCard`,
		"export const rootAgent = new adk.RemoteA2AAgent({ name: 'a', agentCard: 'https://x.example', messageSendConfig: { blocking: true } });":                               `The option messageSendConfig of the agent "a" is not supported by this runtime: the server follows the task to its end`,
		"export const rootAgent = new adk.RemoteA2AAgent({ name: 'a', agentCard: 'https://x.example', beforeRequestCallbacks: [() => {}] });":                                  `The option beforeRequestCallbacks of the agent "a" is not supported by this runtime: use beforeAgentCallback`,
		"export const rootAgent = new adk.RemoteA2AAgent({ name: 'a', agentCard: 'https://x.example', afterRequestCallbacks: [() => {}] });":                                   `The option afterRequestCallbacks of the agent "a" is not supported by this runtime: use afterAgentCallback`,
		"export const rootAgent = new adk.RemoteA2AAgent({ name: 'a', agentCard: 'gone.json' });":                                                                              "the agent a: agentCard: ",
		"export const rootAgent = new adk.RemoteA2AAgent({ name: 'a', agentCard: { name: 1 } });":                                                                              "the agent a: agentCard: a2a: read the card of the agent",
		"export const rootAgent = new adk.LlmAgent({ name: 'a' });":                                                                                                            `No model found for a: give it, or an agent above it, a model`,
		"export const rootAgent = new adk.SequentialAgent({ name: 's', subAgents: [new adk.LlmAgent({ name: 'a' })] });":                                                       "No model found for a:",
		"export const agent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', generateContentConfig: { temperature: 'hot' } });":                                      "the agent a: generateContentConfig: temperature must be a number, not a text",
		"export const agent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', generateContentConfig: { maxOutputTokens: 1.5 } });":                                    "generateContentConfig: maxOutputTokens must be a whole number, not 1.5",
		"export const agent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', generateContentConfig: { thinkingConfig: { thinkingLevel: {} } } });":                   "generateContentConfig: thinkingConfig.thinkingLevel must be a text, not an object",
		fmt.Sprintf(tools, "new adk.FunctionTool({ name: 'book', description: 'd', parameters: z.object({ on: z.object({ day: z.date().optional() }) }), execute: () => 1 })"): `The tool "book" has z.date() for on.day, which models cannot give: use z.string()`,
		fmt.Sprintf(tools, "new adk.FunctionTool({ name: 'sum', description: 'd', parameters: z3.object({ of: z3.array(z3.bigint()) }), execute: () => 1 })"):                  `The tool "sum" has z.bigint() for of, which models cannot give: use z.number() or z.string()`,
		"export const rootAgent = { name: 'a', model: 'gemini-2.5-flash' };":                                                                                                   "rootAgent is an object with name, model, which is not an agent: export one, for example `export const rootAgent = new LlmAgent({...})`",
		"export const root_agent = undefined;":                                                                                                                                 "root_agent is undefined, which is not an agent",
		"export const agent = null;":                                                                                                                                           "agent is null, which is not an agent",
		"export const answer = 42;":                                                                                                                                            "No agent is exported: export the root agent as rootAgent",
		"export const one = new adk.LlmAgent({ name: 'one' }), two = new adk.LlmAgent({ name: 'two' });":                                                                       "Several agents are exported (one, two): export the root as rootAgent",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, says{flash: "Hi."}, "import * as adk from '@google/adk'; import { z } from 'zod'; import { z as z3 } from 'zod/v3';\n"+code)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s\nerror %v, want %q", code, err, want)
			}
		})
	}
}

// Options that change nothing are named in the log.
func TestAgentsIdleOptions(t *testing.T) {
	t.Parallel()
	h, err := load(t, says{flash: "Hi."}, `
import { LlmAgent } from '@google/adk';
export const rootAgent = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash', mode: 'task', safetySettings: [], description: 'x' } as any);`)
	if err != nil {
		t.Fatal(err)
	}
	h.log.await(t, "The option safetySettings of the agent \\\"a\\\" has no effect in this version: put it into generateContentConfig")
	if strings.Contains(h.log.String(), "The option description") {
		t.Errorf("log:\n%s", h.log)
	}
}

// A name that is none, beside one that was not given, is a mistake.
func TestAgentsMisspeltOptions(t *testing.T) {
	t.Parallel()
	h, err := load(t, says{flash: "Hi."}, `
import { LlmAgent, SequentialAgent } from '@google/adk';
const a = new LlmAgent({ name: 'a', model: 'gemini-2.5-flash', instructions: 'x', tool: [], outputkey: 'k', temperature: 1, mine: 1 } as any);
const b = new LlmAgent({ name: 'b', model: 'gemini-2.5-flash', instruction: 'x', instructions: 'y', output_key: 'k' } as any);
export const rootAgent = new SequentialAgent({ name: 's', subAgents: [a, b], subagents: [], descriptionn: 'x' } as any);`)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`The agent \"a\" has no option instructions: is instruction meant?`, `The agent \"a\" has no option tool: is tools meant?`,
		`The agent \"a\" has no option outputkey: is outputKey meant?`, `The agent \"s\" has no option descriptionn: is description meant?`,
		`The option temperature of the agent \"a\" has no effect in this version: put it into generateContentConfig`,
	} {
		h.log.await(t, text)
	}
	if n := strings.Count(h.log.String(), " meant?"); n != 4 {
		t.Errorf("%d warnings:\n%s", n, h.log)
	}
}

// What a custom agent says is events, and anything else is an error rather than
// nothing.
func TestAgentsYieldEvents(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"'hi'":           `The agent "a" yielded a string, which is not an event: use createEvent({ author, content })`,
		"{ text: 'hi' }": `The agent "a" yielded an object with text, which is not an event: use createEvent({ author, content })`,
		"['hi']":         `The agent "a" yielded a list, which is not an event`,
		"{ content: { parts: [{ text: 'hi' }] } }": "",
		"createEvent({})":                          "",
		"undefined":                                "",
	} {
		h, err := load(t, says{}, `
import { BaseAgent, createEvent } from '@google/adk';
class Mine extends BaseAgent { async *runAsyncImpl() { yield `+code+` as any; } }
export const rootAgent = new Mine({ name: 'a' });`)
		if err != nil {
			t.Fatal(err)
		}
		failed := ""
		for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "Well?"), false) {
			if err != nil {
				failed = err.Error()
			} else if ev.ErrorCode != "" {
				failed = ev.ErrorMessage
			}
		}
		if want == "" != (failed == "") || !strings.Contains(failed, want) {
			t.Errorf("%s: %q, want %q", code, failed, want)
		}
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
		call ask{"for":"requestCredential"} & ask{"for":"getAuthResponse"}
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
		`authScheme is missing: say how the API expects credentials`,
		"a: Well.",
		"the agent made_just_now is not a part of the application: list it in subAgents",
	} {
		if !strings.Contains(story, want) {
			t.Errorf("no %q in:\n%s", want, story)
		}
	}
}
