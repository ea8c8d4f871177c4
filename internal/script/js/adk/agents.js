import { loading, requestStream } from "../guest.js";
import { received } from "./events.js";
import { LLMRegistry } from "./models.js";
import { prepareRetryConfig } from "./node-errors.js";
import { processorsOf } from "./processors.js";
import { STYLE, hasMark, list, optionsOf, setMark } from "./names.js";

const validName = /^[\p{ID_Start}$_][\p{ID_Continue}$_-]*$/u;
const CHILDREN = Symbol("subAgents");
const lasting = new WeakSet();
const noLive = "runLive is not supported by this runtime: use /run_sse with streaming";

export class BaseAgent {
  constructor(...args) {
    const options = optionsOf(args);
    if (typeof options.name !== "string" || !validName.test(options.name)) {
      throw new Error(`Found invalid agent name: ${JSON.stringify(options.name)}. Agent name must be a valid identifier.`);
    }
    if (options.name === "user") throw new Error("Agent name cannot be 'user', since it's reserved for end-user's input.");
    this.name = options.name;
    warnOfMisspelt(options);
    this.description = options.description ?? "";
    for (const key of nodeOptions) if (options[key] !== undefined) this[key] = options[key];
    this.preparedRetryConfig = options.retryConfig && prepareRetryConfig(options.retryConfig);
    this.parentAgent = undefined;
    this.beforeAgentCallback = list(options.beforeAgentCallback);
    this.afterAgentCallback = list(options.afterAgentCallback);
    Object.defineProperty(this, CHILDREN, { value: [], writable: true });
    setMark(this, "baseAgent");
    if (loading()) lasting.add(this);
    this.subAgents = list(options.subAgents);
  }

  get [STYLE]() {
    return "object";
  }
  get subAgents() {
    return this[CHILDREN];
  }
  set subAgents(agents) {
    for (const agent of this[CHILDREN]) agent.parentAgent = undefined;
    this[CHILDREN] = [];
    for (const agent of list(agents)) this.addSubAgent(agent);
  }
  addSubAgent(agent) {
    if (!isBaseAgent(agent)) throw new Error(`The agent "${this.name}" has something among its sub-agents that is not an agent: ${typeof agent}`);
    if (agent.parentAgent && agent.parentAgent !== this) {
      throw new Error(`Agent "${agent.name}" already has a parent agent, current parent: "${agent.parentAgent.name}", trying to add: "${this.name}"`);
    }
    agent.parentAgent = this;
    if (!this[CHILDREN].includes(agent)) this[CHILDREN].push(agent);
    return this;
  }
  setParentAgent(agent) {
    agent.addSubAgent(this);
    return this;
  }
  get rootAgent() {
    return this.parentAgent ? this.parentAgent.rootAgent : this;
  }
  findAgent(name) {
    return this.name === name ? this : this.findSubAgent(name);
  }
  findSubAgent(name) {
    for (const agent of this.subAgents) {
      const found = agent.findAgent(name);
      if (found) return found;
    }
    return undefined;
  }

  /** Runs the agent as a part of the run that ctx belongs to. */
  async *runAsync(ctx) {
    for await (const event of requestStream("runAgent", { agent: this.name }, ctx?.call)) {
      ctx.refresh();
      yield received(event);
    }
  }
  invoke(ctx) {
    return this.runAsync(ctx);
  }
  // biome-ignore lint/correctness/useYield: it only refuses
  async *runAsyncImpl() {
    throw new Error(`${this.constructor.name} must implement runAsyncImpl`);
  }
  // biome-ignore lint/correctness/useYield: it only refuses
  async *runLive() {
    throw new Error(noLive);
  }
  // biome-ignore lint/correctness/useYield: it only refuses
  async *runLiveImpl() {
    throw new Error(noLive);
  }

  /** A copy without a parent, with copies of the sub-agents. */
  clone(overrides = {}) {
    const { subAgents = this.subAgents.map((agent) => agent.clone()), ...rest } = overrides;
    const copy = Object.create(Object.getPrototypeOf(this), Object.getOwnPropertyDescriptors(this));
    copy[CHILDREN] = [];
    return Object.assign(copy, { parentAgent: undefined }, rest, { subAgents });
  }
}

/** Whether an agent was made with the application, and not for a run. */
export const isLasting = (agent) => lasting.has(agent);

// What an agent has as a node of a workflow.
const nodeOptions = ["isolationScope", "rerunOnResume", "retryConfig", "stateSchema", "timeout", "waitForOutput"];

const agentOptions = [
  ...nodeOptions,
  "afterAgentCallback", "afterModelCallback", "afterToolCallback", "agentCard", "agents", "beforeAgentCallback", "beforeModelCallback", "beforeToolCallback",
  "codeExecutor", "contextCompactors", "description", "disallowTransferToParent", "disallowTransferToPeers", "generateContentConfig", "globalInstruction",
  "includeContents", "inputSchema", "instruction", "maxIterations", "model", "name", "outputKey", "outputSchema", "planner", "requestProcessors", "responseProcessors", "router", "subAgents", "tools",
];

// Whether two names differ in two letters that are side by side, at most.
function near(a, b) {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return Math.max(a.length, b.length) - start - end <= 2;
}

// Classes of authors have options of their own: only what looks like one of
// ours that was not given is named.
function warnOfMisspelt(options) {
  for (const given of Object.keys(options)) {
    if (agentOptions.includes(given) || given === "mode" || given in idleOptions) continue;
    const meant = agentOptions.find((name) => options[name] === undefined && near(given.toLowerCase(), name.toLowerCase()));
    if (meant) console.warn(`The agent "${options.name}" has no option ${given}: is ${meant} meant?`);
  }
}

// Options that change nothing here, which the log names.
const idleOptions = {
  examples: "use ExampleTool",
  safetySettings: "put it into generateContentConfig",
  temperature: "put it into generateContentConfig",
  topP: "put it into generateContentConfig",
  topK: "put it into generateContentConfig",
  maxOutputTokens: "put it into generateContentConfig",
};

export class LlmAgent extends BaseAgent {
  constructor(...args) {
    const o = optionsOf(args);
    super(o);
    this.model = o.model;
    this.instruction = o.instruction ?? "";
    this.globalInstruction = o.globalInstruction ?? "";
    this.tools = o.tools ?? [];
    this.outputKey = o.outputKey;
    this.inputSchema = o.inputSchema;
    this.outputSchema = o.outputSchema;
    this.generateContentConfig = o.generateContentConfig ?? {};
    this.includeContents = o.includeContents ?? "default";
    this.includeContentsExplicit = o.includeContents !== undefined;
    this.mode = o.mode;
    if (o.mode === "task") this.waitForOutput ??= true;
    this.planner = o.planner;
    this.codeExecutor = o.codeExecutor;
    this.contextCompactors = list(o.contextCompactors);
    const alone = o.disallowTransferToParent && o.disallowTransferToPeers && this.subAgents.length === 0;
    this.requestProcessors = processorsOf(o.requestProcessors, !alone);
    this.responseProcessors = list(o.responseProcessors);
    this.disallowTransferToParent = o.disallowTransferToParent ?? false;
    this.disallowTransferToPeers = o.disallowTransferToPeers ?? false;
    for (const key of ["tools", "systemInstruction", "responseSchema"]) {
      if (this.generateContentConfig[key]) throw new Error(`generateContentConfig.${key} is not allowed: it has a setting of its own on the agent.`);
    }
    for (const name of ["beforeModelCallback", "afterModelCallback", "beforeToolCallback", "afterToolCallback"]) this[name] = list(o[name]);
    for (const [name, advice] of Object.entries(idleOptions)) {
      if (o[name] !== undefined) console.warn(`The option ${name} of the agent "${this.name}" has no effect in this version: ${advice}`);
    }
    setMark(this, "llmAgent");
  }
  get canonicalModel() {
    for (let a = this; a; a = a.parentAgent) if (a.model) return typeof a.model === "string" ? LLMRegistry.newLlm(a.model) : a.model;
    throw new Error(`No model found for ${this.name}.`);
  }
}

export class SequentialAgent extends BaseAgent {
  constructor(...args) {
    super(...args);
    setMark(this, "sequentialAgent");
  }
}

export class ParallelAgent extends BaseAgent {
  constructor(...args) {
    super(...args);
    setMark(this, "parallelAgent");
  }
}

export class LoopAgent extends BaseAgent {
  constructor(...args) {
    super(...args);
    this.maxIterations = optionsOf(args).maxIterations;
    setMark(this, "loopAgent");
  }
}

/** Runs one of its agents, which the router chooses for every message, and again
 * when that one has failed before it said anything. */
export class RoutedAgent extends BaseAgent {
  constructor(...args) {
    const { agents, router, ...o } = optionsOf(args);
    if (typeof router !== "function") throw new Error(`The agent "${o.name}" needs a router: a function that returns the key of one of its agents`);
    const named = Array.isArray(agents) ? Object.fromEntries(agents.map((agent) => [agent.name, agent])) : { ...agents };
    super({ ...o, subAgents: Object.values(named) });
    this.agents = named;
    this.router = router;
    setMark(this, "routedAgent");
  }
}

// Options of the package for connections of its own. Here the server connects, since
// another server may have to continue with the task.
const connectionOptions = {
  client: "give it an agentCard",
  clientFactory: "give it an agentCard",
  messageSendConfig: "the server follows the task to its end, and takes every kind of output",
  beforeRequestCallbacks: "use beforeAgentCallback",
  afterRequestCallbacks: "use afterAgentCallback",
};

/** An agent of another server, which speaks A2A. Go talks to it; see remote.go. */
export class RemoteA2AAgent extends BaseAgent {
  constructor(...args) {
    const o = optionsOf(args);
    super(o);
    for (const [name, advice] of Object.entries(connectionOptions)) {
      if (o[name] && (!Array.isArray(o[name]) || o[name].length > 0)) throw new Error(`The option ${name} of the agent "${o.name}" is not supported by this runtime: ${advice}`);
    }
    if (!o.agentCard) throw new Error(`The agent "${o.name}" needs an agentCard: the address of the card, the name of a file with it, or the card itself`);
    this.agentCard = o.agentCard;
    setMark(this, "remoteAgent");
  }
}

/** Does nothing but tell where the agent is served. */
export async function toA2a(agent) {
  const tell = () => console.info(`The agent "${agent?.name}" is served at /a2a/ and the name of the application by this server: toA2a does nothing.`);
  tell();
  const app = { use: () => app, get: () => app, post: () => app, listen: (...args) => {
    const listening = args.find((arg) => typeof arg === "function");
    if (listening) queueMicrotask(() => listening());
    return { close: (closed) => closed?.(), address: () => null, on: () => {} };
  } };
  return app;
}

export const isBaseAgent = (v) => hasMark(v, "baseAgent");
export const isLlmAgent = (v) => hasMark(v, "llmAgent");
export const isSequentialAgent = (v) => hasMark(v, "sequentialAgent");
export const isParallelAgent = (v) => hasMark(v, "parallelAgent");
export const isLoopAgent = (v) => hasMark(v, "loopAgent");
export const isRoutedAgent = (v) => hasMark(v, "routedAgent");
export const isRemoteAgent = (v) => hasMark(v, "remoteAgent");
