// What the function of a node gets, and how it is run.
import { requestStream } from "../guest.js";
import { readable } from "./auth.js";
import { Context } from "./context.js";
import { Event, toWire } from "./events.js";
import { camelOptions, hasMark, hide, list, mark, setMark } from "./names.js";
import { DynamicNodeFailError, NodeInterruptedError, NodeSchemaValidationError, describeFailure } from "./node-errors.js";
import { toSchema } from "./schema.js";
import { checkState } from "./state-schema.js";
import { buildNode } from "./workflow.js";

/** Asks the user for something. A node yields or returns it. */
export class RequestInput {
  constructor({ interruptId, payload, message, responseSchema } = {}) {
    Object.assign(this, { interruptId: interruptId ?? crypto.randomUUID(), payload, message, responseSchema });
    setMark(this, "workflow.requestInput");
    if (interruptId !== undefined) setMark(this, "workflow.named");
  }
}

export const isRequestInput = (value) => hasMark(value, "workflow.requestInput");
const isEvent = (value) => value instanceof Event || value?.[mark("event")] === true;
const isContent = (value) => typeof value === "object" && value !== null && Array.isArray(value.parts);

export class NodeContext extends Context {
  #node;
  #describeNode;
  #queue = Promise.resolve();
  #counts = new Map();
  #waits = false;
  asks = [];
  /** describeNode is that of define-workflow.js, which imports this module. */
  constructor(call, node, stateSchema, describeNode, { path, runId, attempt, answers = {}, credential }) {
    super(call, node);
    this.#node = node;
    this.#describeNode = describeNode;
    const { credentialKey } = camelOptions(node.authConfig ?? {});
    if (credential && credentialKey) hide(this, { given: { [`temp:${credentialKey}`]: readable(credential) } });
    Object.assign(this, { stateSchema, nodePath: path, runId, attemptCount: attempt, resumeInputs: answers, interruptIds: [], output: undefined, route: undefined });
  }
  get node() {
    return this.#node;
  }
  get isolationScope() {
    return this.call.info.isolationScope;
  }
  getInvocationContext() {
    return this;
  }
  getAuthResponse(authConfig) {
    return this.given?.[`temp:${camelOptions(authConfig).credentialKey}`] ?? super.getAuthResponse(authConfig);
  }
  /** Whether a node that this one has run waits for the user. */
  get waits() {
    return this.#waits;
  }

  /** Emits an event before the node ends. */
  emit(event) {
    this.#send(this.#checked(toWire(event))).catch(() => {}); // settled reports it
  }
  #send(wire) {
    const sent = this.#queue.then(async () => {
      for await (const _ of requestStream("emitNode", wire, this.call));
      this.refresh();
    });
    this.#queue = sent;
    return sent;
  }
  // Events can write to the state, too.
  #checked(wire) {
    for (const [key, value] of Object.entries(wire.actions?.stateDelta ?? {})) checkState(this.stateSchema, key, value);
    return wire;
  }
  /** Waits until all events are stored. */
  settled() {
    return this.#queue;
  }
  /** What was written to the state since the last event. */
  take() {
    const { stateDelta, artifactDelta, stateChanges } = this.actions;
    const taken = { stateDelta: { ...stateDelta }, artifactDelta: { ...artifactDelta } };
    if (stateChanges?.length > 0) taken.stateChanges = stateChanges.splice(0);
    for (const key of Object.keys(stateDelta)) delete stateDelta[key];
    for (const key of Object.keys(artifactDelta)) delete artifactDelta[key];
    return taken;
  }
  get changed() {
    const { stateDelta, artifactDelta, stateChanges } = this.actions;
    return Object.keys(stateDelta).length + Object.keys(artifactDelta).length + (stateChanges?.length ?? 0) > 0;
  }
  /** An event of the node as Go reads it, with what was written before it. */
  wired(event) {
    const wire = this.#checked(toWire(event));
    const { stateDelta, artifactDelta, stateChanges } = this.take();
    wire.actions = { ...wire.actions, stateDelta: { ...stateDelta, ...wire.actions?.stateDelta }, artifactDelta: { ...artifactDelta, ...wire.actions?.artifactDelta } };
    if (stateChanges) wire.actions.stateChanges = [...stateChanges, ...(wire.actions.stateChanges ?? [])];
    return wire;
  }
  /** Emits something that the node yielded, which is not its last word. */
  async yielded(item) {
    const event = this.eventOf(item);
    if (event) await this.#send({ ...this.wired(event), nodeInfo: { more: true } });
  }
  /** The event that an item is; undefined if it is none. */
  eventOf(item) {
    if (isRequestInput(item)) {
      this.asks.push(item);
      return undefined;
    }
    if (item === undefined || item === null) return this.changed ? new Event() : undefined;
    if (isEvent(item)) {
      if (item.output !== undefined) item.output = checked(this.#node, "output", item.output);
      if (item.route !== undefined) this.route = item.route;
      return item;
    }
    if (isContent(item)) return new Event({ content: item });
    const output = checked(this.#node, "output", item);
    return new Event({ content: contentOf(output), output });
  }

  /** Runs another node, and returns its result. */
  async runNode(nodeLike, input, options = {}) {
    const inner = buildNode(nodeLike);
    const name = options.nodeName ?? inner.name;
    const runId = options.runId ?? String((this.#counts.get(name) ?? 0) + 1);
    if (runId.trim() === "") throw new Error(`The runId of the node "${name}" is empty.`);
    if (options.runId === undefined) this.#counts.set(name, Number(runId));
    // Other nodes see only what is stored.
    if (this.changed) await this.#send(this.wired(new Event()));
    const { definition, release } = await this.#describeNode(inner, this.stateSchema);
    try {
      const params = { node: { ...definition, name }, input, runId, subBranch: Boolean(options.useSubBranch) };
      for await (const result of requestStream("runNode", params, this.call)) {
        this.refresh();
        return this.#returned(result, name, options);
      }
    } finally {
      release();
    }
    throw new Error(`The node "${name}" has no result`);
  }
  #returned({ waiting, failure, output, routes, branch }, name, { useAsOutput }) {
    if (waiting) {
      this.#waits = true;
      throw new NodeInterruptedError();
    }
    if (failure) {
      const error = Object.assign(new Error(failure.message), { name: failure.names[0] });
      throw new DynamicNodeFailError({ message: `Dynamic node ${name} failed: ${failure.message}`, error, errorNodePath: failure.path });
    }
    const result = { output: output ?? undefined, route: routes?.length > 1 ? routes : routes?.[0], branch, interruptIds: [] };
    if (useAsOutput) Object.assign(this, { output: result.output, route: result.route, handedOn: true });
    return result;
  }
}

// A value for people to read.
function contentOf(value) {
  const text = (one) => ({ text: typeof one === "string" ? one : typeof one?.text === "string" ? one.text : JSON.stringify(one) });
  const parts = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string") ? value.map(text) : [text(value)];
  return { role: "model", parts };
}

/** A value as a schema of the node has it. */
export function checked(node, direction, value) {
  const schema = node[`${direction}Schema`];
  if (value === undefined || typeof schema?.parse !== "function" || isContent(value)) return value;
  try {
    return schema.parse(value);
  } catch (cause) {
    throw new NodeSchemaValidationError({ nodeName: node.name, direction, cause });
  }
}

const isGenerator = (value) => value !== null && typeof value === "object" && (typeof value[Symbol.asyncIterator] === "function" || (typeof value[Symbol.iterator] === "function" && typeof value.next === "function"));

/** Runs the function of a node for Go: see nodeReply in workflow.go. */
export async function run(ctx, work, input) {
  try {
    let result = work(ctx, checked(ctx.node, "input", input));
    if (isGenerator(result)) {
      for await (const item of result) await ctx.yielded(item);
      result = undefined;
    }
    const reply = answer(ctx, await result);
    await ctx.settled();
    if (ctx.waits) return { waiting: true };
    ctx.call.context = ctx; // with what it wrote
    return { ...reply, asks: ctx.asks.map(describeRequest) };
  } catch (error) {
    await ctx.settled().catch(() => {});
    return ctx.waits ? { waiting: true } : { failure: describeFailure(error) };
  }
}

// How a node ends: with an event of its own, or with an output.
function answer(ctx, result) {
  let own = isEvent(result) || isContent(result) ? ctx.eventOf(result) : undefined;
  // The node that it is of has shown it.
  if (ctx.handedOn && (result === undefined || result === ctx.output) && ctx.output !== undefined) own = new Event({ output: ctx.output });
  if (isRequestInput(result)) ctx.eventOf(result);
  const routes = list(ctx.route).map(String);
  if (!own) return { output: isRequestInput(result) ? undefined : (checked(ctx.node, "output", result ?? undefined) ?? ctx.output), routes };
  const wire = ctx.wired(own);
  if (routes.length > 0) wire.actions.route = routes.length > 1 ? routes : routes[0];
  return { event: wire };
}

const describeRequest = (asked) => ({
  id: hasMark(asked, "workflow.named") ? asked.interruptId : "",
  message: asked.message ?? "",
  payload: asked.payload ?? null,
  schema: asked.responseSchema && toSchema(asked.responseSchema),
});
