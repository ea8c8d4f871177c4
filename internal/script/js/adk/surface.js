// Everything that agents import by name, for both packages.
import * as agents from "./agents.js";
import * as auth from "./auth.js";
import { Context, InvocationContext } from "./context.js";
import * as code from "./code.js";
import * as compaction from "./compaction.js";
import * as events from "./events.js";
import * as helpers from "./helpers.js";
import * as logging from "./logging.js";
import * as hosted from "./hosted.js";
import * as mcp from "./mcp.js";
import { missing } from "./missing.js";
import * as models from "./models.js";
import * as names from "./names.js";
import * as nodeErrors from "./node-errors.js";
import * as nodeHelpers from "./node-helpers.js";
import * as nodeTools from "./node-tool.js";
import { NodeContext, RequestInput, isRequestInput } from "./node-context.js";
import * as planners from "./planners.js";
import * as processors from "./processors.js";
import * as plugins from "./plugins.js";
import * as providerTools from "./provider-tools.js";
import * as readyTools from "./ready-tools.js";
import * as requests from "./requests.js";
import * as runner from "./runner.js";
import { zodObjectToSchema } from "./schema.js";
import { InMemoryArtifactService, InMemoryMemoryService, InMemorySessionService } from "./services.js";
import * as skillFiles from "./skill-files.js";
import * as skills from "./skills.js";
import { State } from "./state.js";
import * as tools from "./tools.js";
import * as toolsets from "./toolsets.js";
import * as workflow from "./workflow.js";

const enumOf = (values) => Object.freeze(values);

class App {
  constructor(options) {
    const { name, rootAgent, plugins = [], ...rest } = names.camelOptions(options);
    validateAppName(name);
    if (!workflow.isRunnableRoot(rootAgent)) throw new Error(`The App "${name}" needs a rootAgent`);
    Object.assign(this, { name, rootAgent, plugins, ...rest });
  }
}

function validateAppName(name) {
  if (!/^[A-Za-z_][\w-]*$/.test(name) || name === "user") throw new Error(`Invalid app name: ${JSON.stringify(name)}. It must be an identifier, and not "user".`);
}

const { describeCode, ...codeValues } = code;
const { asCompacted, settingsOf, ...compactionValues } = compaction;
const { describeSet, isLive, ...mcpValues } = mcp;
const { process, processorsOf, remaining, ...processorValues } = processors;
const { classes: authClasses, dataClasses, readable, readableValue, ...authValues } = auth;

const { createNodeErrorEvent, describeFailure, isDynamicNodeFailError, isNodeInterruptedError, DynamicNodeFailError, NodeInterruptedError, ...nodeErrorValues } = nodeErrors;
const { buildNode, isBaseNode, isLastingNode, ...workflowValues } = workflow;

const common = {
  ...agents,
  ...authClasses,
  ...authValues,
  ...codeValues,
  ...compactionValues,
  ...events,
  ...helpers,
  ...hosted,
  ...logging,
  ...mcpValues,
  ...models,
  ...planners,
  ...plugins,
  ...processorValues,
  ...providerTools,
  ...readyTools,
  ...runner,
  ...skillFiles,
  ...skills,
  ...tools,
  ...dataClasses("RunConfig ToolConfirmation"),
  ...nodeErrorValues,
  ...nodeHelpers,
  ...nodeTools,
  ...workflowValues,
  Agent: agents.LlmAgent,
  App,
  CallbackContext: Context,
  Claude: hosted.AnthropicLlm,
  Context,
  InMemoryArtifactService,
  InMemoryMemoryService,
  InMemorySessionService,
  InvocationContext,
  LlmRegistry: models.LLMRegistry,
  LlmRequest: requests.LlmRequest,
  LlmResponse: requests.LlmResponse,
  NodeContext,
  OpenAPIToolset: toolsets.OpenAPIToolset,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME: names.REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME: names.REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME: names.REQUEST_INPUT_FUNCTION_CALL_NAME,
  ReadonlyContext: Context,
  RequestInput,
  RestApiTool: toolsets.RestApiTool,
  State,
  StatePrefix: enumOf({ APP_PREFIX: State.APP_PREFIX, USER_PREFIX: State.USER_PREFIX, TEMP_PREFIX: State.TEMP_PREFIX }),
  StreamingMode: enumOf({ NONE: "none", SSE: "sse", BIDI: "bidi" }),
  ToolContext: Context,
  appendInstructions: requests.appendInstructions,
  createNodeErrorEvent: (params) => createNodeErrorEvent(events.createEvent, params),
  createLlmResponse: requests.LlmResponse.create,
  createRestApiTool: toolsets.createRestApiTool,
  createResumabilityConfig: (init) => ({ ...init }),
  createSession: (init) => ({ appName: "", userId: "", events: [], lastUpdateTime: 0, ...init, state: { ...init?.state } }),
  exitLoop: tools.EXIT_LOOP,
  loadArtifactsTool: tools.LOAD_ARTIFACTS,
  loadMemoryTool: tools.LOAD_MEMORY,
  preloadMemoryTool: tools.PRELOAD_MEMORY,
  getUserChoice: tools.getUserChoiceTool,
  isApp: (value) => value instanceof App,
  isRequestInput,
  isGemini2OrAbove: (name) => /gemini-(?:[2-9]|\d\d)/.test(String(name)),
  validateAppName,
  version: "2.0.0",
  zodObjectToSchema,

  // Telemetry and feature flags are the server's; agents that set them up
  // themselves lose nothing.
  getClientLabels: () => [],
  getFeatureConfig: () => undefined,
  getGcpExporters: async () => ({}),
  getGcpResource: () => ({}),
  isFeatureEnabled: () => false,
  maybeSetOtelProviders: () => {},
  overrideFeatureEnabled: () => {},
  registerFeature: () => {},
  runWithClientLabel: (_, fn) => fn(),
  withTemporaryFeatureOverride: (...args) => args.at(-1)(),
};

for (const [name, advice] of Object.entries(missing)) common[name] ??= names.unsupported(name, advice);

export const google = common;

const positional = (cls) =>
  ({
    [cls.name]: class extends cls {
      get [names.STYLE]() {
        return "positional";
      }
    },
  })[cls.name];

const LlmAgent = positional(agents.LlmAgent);

export const typescript = {
  ...common,
  ...dataClasses("Content FunctionResponse Part Session"),
  Agent: LlmAgent,
  AuthenticatedFunctionTool: positional(tools.AuthenticatedFunctionTool),
  BaseLlm: positional(models.BaseLlm),
  FunctionTool: positional(tools.FunctionTool),
  LlmAgent,
  LongRunningFunctionTool: positional(tools.LongRunningFunctionTool),
  VERSION: "1.0.3",
  deepClone: structuredClone,
  generateId: () => crypto.randomUUID(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  transferToAgent: tools.transferToAgent,
};
// The namespaces of its root.
for (const name of ["agents", "artifacts", "auth", "events", "flows", "memory", "models", "runners", "sessions", "tools", "utils"]) {
  typescript[name] = typescript;
}
