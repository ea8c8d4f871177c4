// What tools, callbacks, instructions and custom agents get to see of a run.
// One class serves under all the names that the packages have for it.
import { createEventActions, received } from "./events.js";
import { hide } from "./names.js";
import { servicesOf } from "./services.js";
import { makeState } from "./state.js";

export class Context {
  /** info is what Go says about the call, call is the call itself. */
  constructor(info, call, { agent, frozen = false } = {}) {
    this.appName = info.app;
    this.userId = info.user;
    this.sessionId = info.session;
    this.invocationId = info.invocationId;
    this.agentName = info.agent;
    this.userContent = info.userContent;
    this.functionCallId = info.functionCallId;
    this.branch = info.branch;
    const actions = createEventActions();
    const state = makeState(() => JSON.parse(__host("state", String(call.id))), actions.stateDelta, frozen);
    hide(this, { call, values: state.values, agent, actions, eventActions: actions, _eventActions: actions, runConfig: {} });
    this.state = state.proxy;
  }
  get abortSignal() {
    return this.call.signal;
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

/** Runs fn with a context, and returns its value with what it did. */
export async function withContext(info, call, agent, fn) {
  const ctx = new Context(info, call, { agent });
  const value = await fn(ctx);
  return { value: value === undefined ? null : value, actions: ctx.actions };
}

/** What a toolset gets that is asked for its tools, which happens outside of
 * any run. */
export function outside(agent) {
  const ctx = new Context({ agent: agent.name, app: "", user: "", session: "", invocationId: "" }, { signal: new AbortController().signal }, { agent, frozen: true });
  ctx.values.base = {};
  return ctx;
}
