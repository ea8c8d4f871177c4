// What tools, callbacks, instructions and custom agents get to see of a run.
// One class serves under all the names that the packages have for it.
import { createEventActions, received } from "./events.js";
import { hide } from "./names.js";
import { servicesOf } from "./services.js";
import { makeState } from "./state.js";

export class Context {
  // Everything is made when somebody first looks: most calls need little of it.
  #info;
  #call;
  #agent;
  #frozen;
  #actions;
  #message;
  #state;

  /** info is what Go says about the call, call is the call itself. */
  constructor(info, call, { agent, frozen = false } = {}) {
    this.#info = info;
    this.#call = call;
    this.#agent = agent;
    this.#frozen = frozen;
  }
  get appName() {
    return this.#info.app;
  }
  get userId() {
    return this.#info.user;
  }
  get sessionId() {
    return this.#info.session;
  }
  get invocationId() {
    return this.#info.invocationId;
  }
  get agentName() {
    return this.#info.agent;
  }
  get userContent() {
    return (this.#message ??= JSON.parse(__host("message", String(this.#call.id))) ?? undefined);
  }
  get functionCallId() {
    return this.#info.functionCallId;
  }
  get branch() {
    return this.#info.branch;
  }
  get call() {
    return this.#call;
  }
  get agent() {
    return this.#agent;
  }
  get runConfig() {
    return {};
  }
  get abortSignal() {
    return this.#call.signal;
  }
  get actions() {
    return (this.#actions ??= createEventActions());
  }
  get eventActions() {
    return this.actions;
  }
  get _eventActions() {
    return this.actions;
  }
  /** What was done, undefined if nothing can have been. */
  get done() {
    return this.#actions;
  }
  #open() {
    return (this.#state ??= makeState(() => JSON.parse(__host("state", String(this.#call.id))), this.actions.stateDelta, this.#frozen));
  }
  get state() {
    return this.#open().proxy;
  }
  get values() {
    return this.#open().values;
  }
  get session() {
    if (!this.openSession) hide(this, { openSession: makeSession(this) });
    return this.openSession;
  }
  get invocationContext() {
    return this;
  }
  get(key) {
    return this.values.read(key);
  }
  set(key, value) {
    this.values.write(key, value);
  }
  has(key) {
    return this.values.has(key);
  }
  /** Forgets what was read, because Go may know better by now. */
  refresh() {
    this.values.base = undefined;
  }

  get artifactService() {
    return servicesOf(this).artifacts;
  }
  get memoryService() {
    return servicesOf(this).memory;
  }
  async saveArtifact(filename, artifact) {
    const version = await this.#artifacts("saveArtifact").saveArtifact({ filename, artifact });
    this.actions.artifactDelta[filename] = version;
    return version;
  }
  async loadArtifact(filename, version) {
    return this.#artifacts("loadArtifact").loadArtifact({ filename, version });
  }
  async listArtifacts() {
    return this.#artifacts("listArtifacts").listArtifactKeys();
  }
  #artifacts(method) {
    if (this.artifactService) return this.artifactService;
    throw new Error(`Artifact service is not initialized. ${method} is not supported by this version of the server: keep small things in the state`);
  }
  async searchMemory(query) {
    if (this.memoryService) return this.memoryService.searchMemory({ query });
    throw new Error("Memory service is not initialized. searchMemory is not supported by this version of the server: keep what is to be remembered in the state, under user:");
  }

  requestCredential() {
    throw new Error("requestCredential is not supported by this version: give the tool its credential through the environment");
  }
  getAuthResponse() {
    return undefined;
  }
  requestConfirmation() {
    throw new Error("requestConfirmation is not supported by this version: use a long-running tool, whose answer the client sends");
  }
}

function makeSession(ctx) {
  const session = { id: ctx.sessionId, appName: ctx.appName, userId: ctx.userId, state: ctx.state };
  return Object.defineProperties(session, {
    events: { enumerable: true, get: () => JSON.parse(__host("events", String(ctx.call.id))).map(received) },
    lastUpdateTime: { enumerable: true, get: () => session.events.at(-1)?.timestamp ?? 0 },
  });
}

/** What a custom agent gets. */
export class InvocationContext extends Context {
  constructor(info, call, agent) {
    super(info, call, { agent });
    this.endInvocation = false;
  }
}

/** Runs fn with a context, and returns what becomes of its value with what it
 * did; at once, if fn answers at once. */
export function withContext(info, call, agent, fn, become = (value) => value) {
  const ctx = new Context(info, call, { agent });
  const outcome = (value) => ({ value: value === undefined ? null : become(value), actions: ctx.done });
  const value = fn(ctx);
  return typeof value?.then === "function" ? value.then(outcome) : outcome(value);
}

/** What a toolset gets that is asked for its tools, which happens outside of
 * any run. */
export function outside(agent) {
  const ctx = new Context({ agent: agent.name, app: "", user: "", session: "", invocationId: "" }, { signal: new AbortController().signal }, { agent, frozen: true });
  ctx.values.base = {};
  return ctx;
}
