package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
)

// Names that agents import, by what becomes of their use. Those of adk-typescript
// alone are apart; everything else is in both packages.
const (
	namesThatWork = `
		SkillToolset loadSkillFromDir loadAllSkillsInDir loadSkillFromZipBuffer validateSkillDir
		ListSkillsTool LoadSkillTool LoadSkillResourceTool SearchSkillsTool RunSkillScriptTool RunSkillInlineScriptTool RunSkillInlineScriptErrorCode
		LlmAgent Agent SequentialAgent ParallelAgent LoopAgent BaseAgent RoutedAgent InvocationContext
		Context ToolContext CallbackContext ReadonlyContext State StreamingMode RunConfig
		isBaseAgent isLlmAgent isLoopAgent isParallelAgent isRoutedAgent isSequentialAgent
		FunctionTool LongRunningFunctionTool AgentTool BaseTool BaseToolset OpenAPIToolset RestApiTool createRestApiTool
		MCPToolset MCPTool SseServerParams StdioServerParameters StdioConnectionParams StreamableHTTPConnectionParams
		GOOGLE_SEARCH GoogleSearchTool googleSearch URL_CONTEXT UrlContextTool ENTERPRISE_WEB_SEARCH EnterpriseWebSearchTool
		enterpriseWebSearch GOOGLE_MAPS_GROUNDING GoogleMapsGroundingTool VertexAiSearchTool VertexAISearchTool
		LOAD_MEMORY PRELOAD_MEMORY LOAD_ARTIFACTS EXIT_LOOP LoadMemoryTool PreloadMemoryTool LoadArtifactsTool ExitLoopTool
		loadMemoryTool preloadMemoryTool loadArtifactsTool exitLoop requestInputTool getUserChoiceTool getUserChoice
		ToolConfirmation ExampleTool LOAD_WEB_PAGE loadWebPage loadWebPageTool LoadWebPageTool transferToAgent
		isBaseTool isBaseToolset isFunctionTool isAgentTool zodObjectToSchema
		createEvent createEventActions Event EventActions isFinalResponse stringifyContent getFunctionCalls getFunctionResponses
		hasTrailingCodeExecutionResult
		Gemini BaseLlm LLMRegistry LlmRegistry LlmRequest LlmResponse RoutedLlm LiteLlm Claude isBaseLlm
		AuthCredentialTypes AuthCredential OAuth2Auth OpenIdConnectWithConfig AuthConfig
		InMemoryRunner Runner InMemorySessionService InMemoryArtifactService InMemoryMemoryService runAgent
		LogLevel setLogLevel setLogger getLogger
		App isApp validateAppName BasePlugin LoggingPlugin GlobalInstructionPlugin SecurityPlugin PolicyOutcome InMemoryPolicyEngine ContextCompactionTrigger
		getAskUserConfirmationFunctionCalls
		Workflow WorkflowAgent node START RequestInput JoinNode FunctionNode ToolNode NodeContext BaseNode Edge Graph ParallelWorker
		BranchPath DEFAULT_ROUTE WorkflowNode asRunnableRoot isRunnableRoot isWorkflow isRequestInput
		NodeStatus NodeReportedError NodeSchemaValidationError NodeTimeoutError StateSchemaError isNodeErrorEvent isNodeReportedError
		isNodeSchemaValidationError isNodeTimeoutError isStateSchemaError createNodeErrorEvent createNodeState isNodeState
		normalizeRetryExceptions prepareRetryConfig commonPrefixOf createSubBranch
		BasePlanner BuiltInPlanner PlanReActPlanner
		LlmSummarizer TokenBasedContextCompactor TruncatingContextCompactor AnchoredContextCompactor
		AgentControlledContextCompactor ConsolidateContextTool TrajectoryThoughtPruningCompactor isCompactedEvent isScratchpadEvent
		REQUEST_CONFIRMATION_FUNCTION_CALL_NAME REQUEST_CREDENTIAL_FUNCTION_CALL_NAME REQUEST_INPUT_FUNCTION_CALL_NAME
		BaseCodeExecutor BuiltInCodeExecutor CodeExecutionResponseProcessor ContainerCodeExecutor JavaScriptCodeExecutor
		RemoteA2AAgent toA2a
		maybeSetOtelProviders getGcpExporters getGcpResource isFeatureEnabled isGemini2OrAbove version`

	typescriptNames = `
		VERSION StatePrefix Session Content Part FunctionResponse
		agents tools models flows runners sessions memory utils`

	genaiNames = `
		Type createUserContent createModelContent createPartFromText createPartFromBase64 FinishReason`

	// What only other products have.
	refusedNames = `
		GCPSkillRegistry
		UnsafeLocalCodeExecutor AgentEngineSandboxCodeExecutor VertexAiCodeExecutor builtInCodeExecution
		getA2AAgentCard A2AAgentExecutor
		DatabaseSessionService VertexAiSessionService GcsArtifactService FileArtifactService VertexAiMemoryBankService VertexAiRagMemoryService
		ApigeeLlm AgentRegistry VertexRagRetrievalTool LiveRequestQueue LangchainTool CrewaiTool
		ApplicationIntegrationToolset APIHubToolset BigQueryToolset CalendarToolset DocsToolset GmailToolset SheetsToolset
		SlidesToolset YoutubeToolset GoogleApiToolset AgentEvaluator`
)

// TestAgentsNames walks the names of both packages. Each works, or is refused
// with advice when it is used; none is undefined, and none is unheard of.
func TestAgentsNames(t *testing.T) {
	code := `
import * as adk from '@google/adk';
import * as ts from 'adk-typescript';
import * as genai from '@google/genai';
// What is refused is refused in any use; to ask for a member is one that does
// no harm to the others.
const state = (value: any) => {
  if (value === undefined) return 'undefined';
  try { void value.someMember; return 'works'; } catch (error) { return error.message; }
};
const all: string[] = [];
const walk = (from: string, module: any, names: string) => { for (const name of names.trim().split(/\s+/)) all.push(from + ' ' + name + ' ' + state(module[name])); };
`
	for _, one := range []struct{ from, names string }{
		{"adk", namesThatWork},
		{"adk", refusedNames},
		{"ts", namesThatWork + typescriptNames},
		{"ts", refusedNames},
		{"genai", genaiNames},
	} {
		code += fmt.Sprintf("walk('%[1]s', %[1]s, %s);\n", one.from, toJSON(one.names))
	}
	code += "export const rootAgent = new adk.LlmAgent({ name: 'a', model: 'gemini-2.5-flash', instruction: () => all.join('\\n') });"
	h, err := load(t, says{flash: "tell instruction"}, code)
	if err != nil {
		t.Fatal(err)
	}
	refused := map[string]bool{}
	for name := range strings.FieldsSeq(refusedNames) {
		refused[name] = true
	}
	seen := 0
	for ev, err := range h.send(t.Context(), event.Text(event.RoleUser, "Well?"), false) {
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(ev.Content.Text(), "\n") {
			seen++
			from, rest, _ := strings.Cut(line, " ")
			name, got, _ := strings.Cut(rest, " ")
			switch {
			case !refused[name] && got != "works":
				t.Errorf("%s of %s: %s", name, from, got)
			case refused[name] && (!strings.HasPrefix(got, name+" is not supported by this runtime: ") || strings.Contains(got, "nothing of that name")):
				t.Errorf("%s of %s should be refused with advice: %s", name, from, got)
			}
		}
	}
	if want := len(strings.Fields(namesThatWork + refusedNames + namesThatWork + typescriptNames + refusedNames + genaiNames)); seen != want {
		t.Errorf("only %d names of %d were looked at", seen, want)
	}
}
