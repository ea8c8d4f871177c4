// The context of a run for tools, callbacks, instructions and custom agents. One
// class implements all context classes of the packages.
import { requestStream } from "../guest.js";
import { hostCall } from "../prelude/host.js";
import { readable, readableValue } from "./auth.js";
import { createEventActions, received } from "./events.js";
import { hide, objectOrList } from "./names.js";
import { servicesOf } from "./services.js";
import { makeState } from "./state.js";
import { checkState } from "./state-schema.js";

export class Context {
  // All members are lazy: most calls use few of them. There is one private member,
  // since each costs a little.
  #own;

  /** call is the call of Go that the context belongs to. own has that, the agent, and
   * frozen, and gets actions, message, state and over. */
  constructor(call, agent, frozen = false, own = { call, agent, frozen }) {
    this.#own = own;
  }
  get appName() {
    return this.#own.call.info.app;
  }
  get userId() {
    return this.#own.call.info.user;
  }
  get sessionId() {
    return this.#own.call.info.session;
  }
  get invocationId() {
    return this.#own.call.info.invocationId;
  }
  get agentName() {
    return this.#own.call.info.agent;
  }
  get userContent() {
    return (this.#own.message ??= JSON.parse(__host("message", String(this.#own.call.id))) ?? undefined);
  }
  get functionCallId() {
    return this.#own.call.info.functionCallId;
  }
  get branch() {
    return this.#own.call.info.branch;
  }
  get call() {
    return this.#own.call;
  }
  get agent() {
    return this.#own.agent;
  }
  get runConfig() {
    return {};
  }
  get abortSignal() {
    return this.#own.call.signal;
  }
  get actions() {
    return (this.#own.actions ??= createEventActions());
  }
  get eventActions() {
    return this.actions;
  }
  get _eventActions() {
    return this.actions;
  }
  /** Whether there may be actions. */
  get acted() {
    return this.#own.actions !== undefined;
  }
  /** The actions, undefined if there are none. Reading it ends the context: the
   * answer is being sent, and nothing can be added afterwards. */
  get done() {
    this.end();
    return this.#own.actions;
  }
  /** Changes are not applied any more. */
  end() {
    this.#own.over = true;
  }
  #open() {
    return (this.#own.state ??= makeState(
      () => {
        const values = JSON.parse(__host("state", String(this.#own.call.id)));
        Object.values(values).forEach(readableValue);
        return Object.assign(values, this.given); // a login, which is not stored in the state
      },
      this.actions.stateDelta,
      this.#own.frozen,
      (key) => readableValue(JSON.parse(__host("secret", `${this.#own.call.id} ${key}`))),
      () => this.#own.over,
      (make) => (make ? (this.actions.stateChanges ??= []) : (this.actions.stateChanges ?? [])),
      (key, value) => checkState(this.stateSchema, key, value),
    ));
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
  /** Drops cached values, because Go may have newer ones. */
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
    throw new Error(`Artifact service is not initialized. ${method} needs one: give it to the Runner`);
  }
  async searchMemory(query) {
    if (this.memoryService) return this.memoryService.searchMemory({ query });
    throw new Error("Memory service is not initialized. searchMemory needs one: give it to the Runner");
  }
  async addSessionToMemory() {
    if (this.memoryService) return this.memoryService.addSessionToMemory(this.session);
    throw new Error("Memory service is not initialized. addSessionToMemory needs one: give it to the Runner");
  }

  /** Asks the user to log in. The call is made again afterwards. */
  requestCredential(authConfig) {
    if (!this.functionCallId) throw new Error("requestCredential works in the call of a tool only");
    if (!authConfig) throw new Error("requestCredential needs an authConfig");
    this.actions.requestedAuthConfigs[this.functionCallId] = authConfig;
  }
  /** The credential; undefined if the user has to log in first. */
  getAuthResponse(authConfig) {
    return readable(hostCall("credential", this.#own.call.id, authConfig)) ?? undefined;
  }
  /** The same, asynchronously. */
  async loadCredential(authConfig) {
    for await (const found of requestStream("loadCredential", authConfig, this.#own.call)) return readable(found) ?? undefined;
    return undefined;
  }
  /** Forgets a credential that was refused. */
  dropCredential(authConfig) {
    hostCall("dropCredential", this.#own.call.id, authConfig);
  }
  /** Asks the user whether the call may be made: it comes again with
   * toolConfirmation when that is so. */
  requestConfirmation(...args) {
    if (!this.functionCallId) throw new Error("requestConfirmation works in the call of a tool only");
    const { hint, payload } = objectOrList(args, "hint", "payload");
    this.actions.requestedToolConfirmations[this.functionCallId] = { hint: hint ?? "", confirmed: false, payload };
  }
  get toolConfirmation() {
    return this.#own.call.info.toolConfirmation;
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
  constructor(call, agent) {
    super(call, agent);
    this.endInvocation = false;
  }
}

/** The context of a function that Go has called. What is done there goes with
 * the answer. */
export function open(call, agent) {
  if (call.context) return (call.context = new Context(call, agent));
  call.agent = agent; // the members of the first one are those of the call: another object costs a little (BenchmarkTurn)
  return (call.context = new Context(call, agent, false, call));
}

/** What a toolset gets that is asked for its tools outside of any run. */
export function outside(agent) {
  const info = { agent: agent.name, app: "", user: "", session: "", invocationId: "" };
  const ctx = new Context({ info, signal: new AbortController().signal }, agent, true);
  ctx.values.base = {};
  return ctx;
}
