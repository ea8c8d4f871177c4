// Names of the packages that this version does not have, and what to do
// instead. Importing them is fine; using them is refused with this advice.
const advice = {
  "use MCPToolset, which keeps the connection itself": "MCPSessionManager AgentRegistrySingleMCPToolset",
  "use OpenAPIToolset, which reads the document itself": "OpenApiSpecParser OperationParser",
  "use GOOGLE_SEARCH, or search with fetch in a tool of your own": "WebSearchTool",
  "call the service with fetch in a tool of your own": `
    VertexRagRetrievalTool VertexAiRagRetrieval FilesRetrieval LlamaIndexRetrieval BaseRetrievalTool
    ApplicationIntegrationToolset APIHubToolset APIHubClient SecretManagerClient
    GoogleApiTool GoogleApiToolset GoogleApiToolSet BigQueryToolset CalendarToolset DocsToolset GmailToolset
    SheetsToolset SlidesToolset YoutubeToolset bigqueryToolSet calendarToolSet docsToolSet gmailToolSet
    sheetsToolSet slidesToolSet youtubeToolSet`,
  "use RemoteA2AAgent with the address of the agent's card": "RemoteAgent",
  "wrap the function in a FunctionTool": `
    LangchainTool CrewaiTool ThirdPartyTool createLangchainTool ToolboxTool ToolboxToolset SimpleToolboxClient`,
  "it would run the code of a model with everything that the server may do: use ContainerCodeExecutor, JavaScriptCodeExecutor or BuiltInCodeExecutor": "UnsafeLocalCodeExecutor",
  "use ContainerCodeExecutor, BuiltInCodeExecutor, or an executor of your own that calls the service with fetch": "VertexAiCodeExecutor AgentEngineSandboxCodeExecutor",
  "give the agent a codeExecutor: new BuiltInCodeExecutor()": "builtInCodeExecution BuiltInCodeExecutionTool codeExecutionTool CodeExecutionTool executeCode",
  "give a SkillToolset a registry of your own, with getSkill and searchSkills, or the skills in a directory": "GCPSkillRegistry",
  "give the plugins to an App": "PluginManager",
  "the server chooses the agent that continues a session": "determineAgentForResumption",
  "give the options to Gemini, which completes them": "geminiInitParams",
  "it is for the tests of the package itself": "functionsExportedForTestingOnly",
  "use SequentialAgent, ParallelAgent, LoopAgent or a custom agent": `
    LanggraphAgent PlanningAgent ReasoningAgent`,
  "use LiteLlm with an apiBase, or extend BaseLlm": "ApigeeLlm",
  "sessions, artifacts and memory are kept by the server; configure them there": `
    BaseSessionService DatabaseSessionService VertexAiSessionService VertexAiMemoryBankService VertexAiRagMemoryService
    getSessionServiceFromUri`,
  "the server keeps artifacts, where its --artifact_service_uri says; a Runner of your own takes an InMemoryArtifactService": `
    GcsArtifactService FileArtifactService getArtifactServiceFromUri`,
  "the server logs users in, exchanges and refreshes: use context.requestCredential and context.getAuthResponse in a tool": `
    AuthHandler AuthPreprocessor AuthTool AuthToolModule AuthProviderRegistry CredentialExchangerRegistry
    CredentialRefresherRegistry OAuth2CredentialExchanger OAuth2CredentialRefresher OAuth2DiscoveryManager
    ServiceAccountCredentialExchanger AutoAuthCredentialExchanger BaseAuthCredentialExchanger CredentialExchangeError
    CredentialManager credentialToParam generateAuthToken`,
  "use /run_sse with streaming": "LiveRequestQueue ActiveStreamingTool BaseLlmConnection GeminiLlmConnection",
  "the server serves the agent already": "getA2AAgentCard A2AAgentExecutor bearerTokenUserBuilder createApiServer",
  "evaluate through the HTTP API": `
    AgentEvaluator EvaluationGenerator ResponseEvaluator TrajectoryEvaluator LocalEvalSetsManager EvalSetsManager`,
  "name the servers in MCPToolset, and the agents in subAgents": "AgentRegistry",
  "run the program as a service, and call it with fetch in a tool": "LocalEnvironment BaseEnvironment",
};

/** The advice by name. */
export const missing = Object.fromEntries(Object.entries(advice).flatMap(([text, names]) => names.trim().split(/\s+/).map((name) => [name, text])));
