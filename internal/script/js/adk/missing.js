// Names of the packages that this version does not have, and what to do
// instead. Importing them is fine; using them is refused with this advice.
const advice = {
  "write the tools as FunctionTool, and call the service with fetch": `
    MCPToolset MCPTool MCPSessionManager SseServerParams LoadMcpResourceTool`,
  "use OpenAPIToolset, which reads the document itself": "OpenApiSpecParser OperationParser",
  "search with fetch in a tool of your own": `
    GOOGLE_SEARCH GoogleSearchTool googleSearch ENTERPRISE_WEB_SEARCH EnterpriseWebSearchTool enterpriseWebSearch
    VertexAiSearchTool VertexAISearchTool GOOGLE_MAPS_GROUNDING GoogleMapsGroundingTool WebSearchTool`,
  "use fetch in a tool of your own": `
    URL_CONTEXT UrlContextTool`,
  "call the service with fetch in a tool of your own": `
    VertexRagRetrievalTool VertexAiRagRetrieval FilesRetrieval LlamaIndexRetrieval BaseRetrievalTool
    ApplicationIntegrationToolset APIHubToolset APIHubClient SecretManagerClient
    GoogleApiTool GoogleApiToolset GoogleApiToolSet BigQueryToolset CalendarToolset DocsToolset GmailToolset
    SheetsToolset SlidesToolset YoutubeToolset bigqueryToolSet calendarToolSet docsToolSet gmailToolSet
    sheetsToolSet slidesToolSet youtubeToolSet`,
  "call the remote agent with fetch in a tool": "RemoteA2AAgent RemoteAgent",
  "wrap the function in a FunctionTool": `
    LangchainTool CrewaiTool ThirdPartyTool createLangchainTool ToolboxTool ToolboxToolset SimpleToolboxClient`,
  "run code in a tool of your own": `
    BaseCodeExecutor BuiltInCodeExecutor UnsafeLocalCodeExecutor VertexAiCodeExecutor AgentEngineSandboxCodeExecutor
    builtInCodeExecution BuiltInCodeExecutionTool codeExecutionTool CodeExecutionTool executeCode`,
  "use requestInputTool": "RequestInput",
  "keep what is to be remembered in the state, under user:": `
    LOAD_MEMORY LoadMemoryTool loadMemoryTool PRELOAD_MEMORY PreloadMemoryTool preloadMemoryTool`,
  "keep small things in the state": "LOAD_ARTIFACTS LoadArtifactsTool loadArtifactsTool",
  "write it into the instruction": "BaseExampleProvider",
  "load the text of a skill into the instruction": `
    SkillToolset loadSkillFromDir loadAllSkillsInDir loadSkillFromZipBuffer validateSkillDir GCPSkillRegistry`,
  "give the plugins to an App": "PluginManager",
  "use SequentialAgent, ParallelAgent, LoopAgent or a custom agent": `
    Workflow node Edge Graph START BaseNode FunctionNode JoinNode ToolNode ParallelWorker NodeContext
    LanggraphAgent PlanningAgent ReasoningAgent`,
  "use LiteLlm with an apiBase, or extend BaseLlm": "ApigeeLlm",
  "use TokenBasedContextCompactor or TruncatingContextCompactor": `
    AnchoredContextCompactor AgentControlledContextCompactor TrajectoryThoughtPruningCompactor ConsolidateContextTool`,
  "sessions, artifacts and memory are kept by the server; configure them there": `
    BaseSessionService DatabaseSessionService VertexAiSessionService GcsArtifactService FileArtifactService
    VertexAiMemoryBankService VertexAiRagMemoryService getSessionServiceFromUri getArtifactServiceFromUri`,
  "the server logs users in, exchanges and refreshes: use context.requestCredential and context.getAuthResponse in a tool": `
    AUTH_PREPROCESSOR AuthHandler AuthPreprocessor AuthTool AuthToolModule AuthProviderRegistry CredentialExchangerRegistry
    CredentialRefresherRegistry OAuth2CredentialExchanger OAuth2CredentialRefresher OAuth2DiscoveryManager
    ServiceAccountCredentialExchanger AutoAuthCredentialExchanger BaseAuthCredentialExchanger CredentialExchangeError
    CredentialManager credentialToParam generateAuthToken`,
  "use /run_sse with streaming": "LiveRequestQueue ActiveStreamingTool BaseLlmConnection GeminiLlmConnection",
  "the server serves the agent already": "toA2a A2AAgentExecutor createApiServer",
  "evaluate through the HTTP API": `
    AgentEvaluator EvaluationGenerator ResponseEvaluator TrajectoryEvaluator LocalEvalSetsManager EvalSetsManager`,
  "it is not part of this version": "AgentRegistry LocalEnvironment BaseEnvironment FinishTaskTool",
};

/** The advice by name. */
export const missing = Object.fromEntries(Object.entries(advice).flatMap(([text, names]) => names.trim().split(/\s+/).map((name) => [name, text])));
