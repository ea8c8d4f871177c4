// Names of the packages that this version does not have, and what to do
// instead. Importing them is fine; using them is refused with this advice.
const notYet = "it is not part of this version";
const inServer = "sessions, artifacts and memory are kept by the server; configure them there";
const byFetch = "call the service with fetch in a tool";
const inCallbacks = "use the callbacks of the agents";
const inInstruction = "write it into the instruction";
const ownTool = "run code in a tool of your own";
const workflows = "use SequentialAgent, ParallelAgent, LoopAgent or a custom agent";

const groups = [
  ["write the tools as FunctionTool, or call the service with fetch in a tool", "MCPToolset MCPTool MCPSessionManager SseServerParams LoadMcpResourceTool OpenAPIToolset OpenApiSpecParser RestApiTool createRestApiTool"],
  ["search with fetch in a tool of your own", "GOOGLE_SEARCH GoogleSearchTool googleSearch ENTERPRISE_WEB_SEARCH EnterpriseWebSearchTool enterpriseWebSearch VertexAiSearchTool VertexAISearchTool GOOGLE_MAPS_GROUNDING GoogleMapsGroundingTool"],
  ["use fetch in a tool of your own", "URL_CONTEXT UrlContextTool LOAD_WEB_PAGE LoadWebPageTool loadWebPage loadWebPageTool"],
  ["keep what is to be remembered in the state, under user:", "LOAD_MEMORY LoadMemoryTool loadMemoryTool PRELOAD_MEMORY PreloadMemoryTool preloadMemoryTool"],
  ["keep small things in the state", "LOAD_ARTIFACTS LoadArtifactsTool loadArtifactsTool"],
  ["use a long-running tool, whose answer the client sends", "requestInputTool RequestInput"],
  [inInstruction, "ExampleTool BaseExampleProvider BuiltInPlanner PlanReActPlanner BasePlanner"],
  ["load the text of a skill into the instruction", "SkillToolset loadSkillFromDir loadAllSkillsInDir loadSkillFromZipBuffer validateSkillDir GCPSkillRegistry"],
  [inCallbacks, "BasePlugin LoggingPlugin GlobalInstructionPlugin SecurityPlugin InMemoryPolicyEngine PluginManager PolicyOutcome"],
  [workflows, "RoutedAgent Workflow node Edge Graph START BaseNode FunctionNode JoinNode ToolNode ParallelWorker NodeContext LanggraphAgent PlanningAgent ReasoningAgent"],
  ["extend BaseLlm", "RoutedLlm LiteLlm Claude ApigeeLlm"],
  ["use includeContents: 'none'", "LlmSummarizer TokenBasedContextCompactor TruncatingContextCompactor AnchoredContextCompactor AgentControlledContextCompactor TrajectoryThoughtPruningCompactor"],
  [ownTool, "BaseCodeExecutor BuiltInCodeExecutor UnsafeLocalCodeExecutor VertexAiCodeExecutor AgentEngineSandboxCodeExecutor builtInCodeExecution BuiltInCodeExecutionTool codeExecutionTool CodeExecutionTool executeCode"],
  ["call the remote agent with fetch in a tool", "RemoteA2AAgent RemoteAgent"],
  ["the server serves the agent already", "toA2a A2AAgentExecutor createApiServer"],
  [inServer, "BaseSessionService DatabaseSessionService VertexAiSessionService GcsArtifactService FileArtifactService VertexAiMemoryBankService VertexAiRagMemoryService getSessionServiceFromUri getArtifactServiceFromUri"],
  ["give the tool its credential through the environment", "InMemoryCredentialService SessionStateCredentialService AuthHandler AuthPreprocessor ToolAuthHandler OAuth2CredentialExchanger AuthProviderRegistry CredentialRefresherRegistry"],
  ["use /run_sse with streaming", "LiveRequestQueue ActiveStreamingTool BaseLlmConnection GeminiLlmConnection"],
  ["wrap the function in a FunctionTool", "LangchainTool CrewaiTool ThirdPartyTool createLangchainTool ToolboxTool ToolboxToolset SimpleToolboxClient"],
  [byFetch, "VertexRagRetrievalTool VertexAiRagRetrieval FilesRetrieval LlamaIndexRetrieval BaseRetrievalTool WebSearchTool ApplicationIntegrationToolset APIHubToolset APIHubClient SecretManagerClient"],
  [byFetch, "GoogleApiTool GoogleApiToolset GoogleApiToolSet BigQueryToolset CalendarToolset DocsToolset GmailToolset SheetsToolset SlidesToolset YoutubeToolset"],
  [byFetch, "bigqueryToolSet calendarToolSet docsToolSet gmailToolSet sheetsToolSet slidesToolSet youtubeToolSet"],
  ["evaluate through the HTTP API", "AgentEvaluator EvaluationGenerator ResponseEvaluator TrajectoryEvaluator LocalEvalSetsManager EvalSetsManager"],
  [notYet, "AgentRegistry LocalEnvironment BaseEnvironment FinishTaskTool"],
];

export const missing = Object.fromEntries(groups.flatMap(([advice, names]) => names.split(" ").map((name) => [name, advice])));
