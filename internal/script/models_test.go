package script_test

import (
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
)

// converse loads an application and has one turn, of which it returns the lines.
func converse(t *testing.T, models says, code string, stream bool) (lines []string, h *host) {
	t.Helper()
	h, err := load(t, models, code)
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "Hello"), stream) {
		if err != nil {
			lines = append(lines, "failed: "+err.Error())
			continue
		}
		if !ev.Partial {
			lines = append(lines, lineOf(ev))
		}
	}
	return lines, h
}

// Every class of a model leads to one that Go talks to, with what the author
// gave beside the name.
func TestAgentsModelClasses(t *testing.T) {
	t.Parallel()
	const imports = "import * as adk from '@google/adk';\nimport * as ts from 'adk-typescript';\nimport { LiteLlm } from 'adk-typescript/models';\n"
	for model, name := range map[string]string{
		`'openai/gpt-5'`: `openai/gpt-5`,
		`adk.LLMRegistry.newLlm('claude-sonnet-4-5')`:                                                    `claude-sonnet-4-5`,
		`new adk.LiteLlm({ model: 'ollama/llama3.2' })`:                                                  `ollama/llama3.2`,
		`new LiteLlm('openai/x', { api_base: 'http://h/v1', api_key: 'k', num_retries: 2, timeout: 3 })`: `openai/x{"baseUrl":"http://h/v1","apiKey":"k","maxRetries":2,"timeout":3000}`,
		`new adk.AnthropicLlm({ model: 'claude-x', apiKey: 'k', baseURL: 'http://h', maxTokens: 9 })`:    `claude-x{"apiKey":"k","baseUrl":"http://h","maxTokens":9}`,
		`new ts.Claude('claude-y')`:                                                                      `claude-y`,
		`new adk.AnthropicLlm()`:                                                                         `claude-sonnet-4-5`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := converse(t, says{name: "Hi."}, imports+"export const rootAgent = new adk.LlmAgent({ name: 'a', model: "+model+" });", false)
			if strings.Join(got, "\n") != "a: Hi. (end)" {
				t.Errorf("%s: %q", model, got)
			}
		})
	}
	_, h := converse(t, says{"openai/x": "Hi."}, imports+"export const rootAgent = new adk.LlmAgent({ name: 'a', model: new LiteLlm('openai/x', { drop_params: true }) });", false)
	h.log.await(t, "LiteLlm: the option dropParams has no effect")
	if _, err := load(t, nil, imports+"export const rootAgent = new adk.LlmAgent({ name: 'a', model: new LiteLlm() });"); err == nil || !strings.Contains(err.Error(), "A LiteLlm needs the name of a model") {
		t.Errorf("without a name: %v", err)
	}
}

func TestAgentsRoutedModels(t *testing.T) {
	t.Parallel()
	agentOf := func(router string) string {
		return `import { BaseLlm, Gemini, LlmAgent, RoutedLlm } from '@google/adk';
class Own extends BaseLlm {
  async *generateContentAsync() {
    if (` + "`${this.model}`" + ` === 'own-broken') yield { content: { role: 'model', parts: [{ text: 'so far' }] }, partial: true };
    throw new Error('own failure');
  }
}
const models = { a: new Gemini({ model: 'a-model' }), b: 'b-model', own: new Own({ model: 'own' }), broken: new Own({ model: 'own-broken' }) } as any;
const router = ` + router + `;
export const rootAgent = new LlmAgent({ name: 'r', model: new RoutedLlm({ models, router }) });`
	}
	for _, tt := range []struct{ name, router, a, b, want string }{
		{"by the request", `(models, request) => (request.contents[0].parts[0].text === 'Hello' ? 'b' : 'a')`, "no", "From b.", "r: From b. (end)"},
		{"over to another", `async (models, request, failed) => (failed ? 'b' : 'a')`, "fail", "From b.", "r: From b. (end)"},
		{"after a refusal", `(models, request, failed) => (failed ? (failed.lastError.code === 'UNAVAILABLE' && failed.failedKeys.has('a') ? 'b' : undefined) : 'a')`, "refuse UNAVAILABLE", "From b.", "r: From b. (end)"},
		{"from a model in JavaScript", `(models, request, failed) => (failed ? 'a' : 'own')`, "From a.", "no", "r: From a. (end)"},
		{"all fail", `(models, request, failed) => ['a', 'own'].find((key) => !failed?.failedKeys.has(key))`, "refuse UNAVAILABLE", "no", "r: error UNKNOWN_ERROR (own failure)"},
		{"all refuse", `(models, request, failed) => ['a', 'b'].find((key) => !failed?.failedKeys.has(key))`, "refuse FIRST", "refuse SECOND", "r: error SECOND (The model refused.)"},
		{"the same again", `() => 'a'`, "fail", "no", "no route to the model"},
		{"not in the middle", `(models, request, failed) => (failed ? 'a' : 'broken')`, "no", "no", "own failure"},
		{"nothing", `() => undefined`, "no", "no", "Initial routing failed"},
		{"something else", `() => 'z'`, "no", "no", `The router picked the model "z", which is not one of a, b, own, broken`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _ := converse(t, says{"a-model": tt.a, "b-model": tt.b}, agentOf(tt.router), true)
			if all := strings.Join(got, "\n"); !strings.Contains(all, tt.want) {
				t.Errorf("got %q, want %q", all, tt.want)
			}
		})
	}
	if _, err := load(t, nil, strings.Replace(agentOf("1"), "'b-model'", "5", 1)); err == nil || !strings.Contains(err.Error(), "A RoutedLlm needs models and a router") {
		t.Errorf("without a router: %v", err)
	}
}

// Settings reach the model, as they are written and as callbacks change them.
func TestAgentsSettings(t *testing.T) {
	t.Parallel()
	got, _ := converse(t, says{flash: "tell config"}, `
import { LlmAgent } from '@google/adk';
export const rootAgent = new LlmAgent({
  name: 'a', model: 'gemini-2.5-flash',
  generateContentConfig: {
    temperature: 0.5, thinkingConfig: { thinkingBudget: 0, includeThoughts: true }, safetySettings: [{ category: 'C', threshold: 'T' }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } }, cachedContent: 'c', labels: { team: 'blue' },
    responseLogprobs: true, serviceTier: 'flex', responseModalities: ['TEXT'],
  } as any,
  beforeModelCallback: ({ request }: any) => {
    request.config.thinkingConfig.thinkingLevel = 'LOW';
    request.config.mediaResolution = 'HIGH';
    delete request.config.labels;
  },
});`, false)
	all := strings.Join(got, "\n")
	for _, want := range []string{
		`"Temperature":0.5`, `"Thinking":{"Budget":0,"IncludeThoughts":true,"Level":"LOW"}`, `"ToolChoice":{"Allowed":["f"],"Mode":"ANY"}`,
		`"SafetySettings":[{"category":"C","threshold":"T"}]`, `"CachedContent":"c"`, `"ServiceTier":"flex"`, `"Extra":{"mediaResolution":"HIGH","responseModalities":["TEXT"]}`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
	if strings.Contains(all, "blue") {
		t.Errorf("what a callback took away is there: %s", all)
	}
}
