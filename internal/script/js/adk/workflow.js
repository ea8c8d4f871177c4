// Workflows and their nodes. The graph runs in Go; define-workflow.js describes
// it, and node-context.js runs the functions of the nodes.
import { loading } from "../guest.js";
import { isBaseAgent } from "./agents.js";
import { hasMark, list, setMark } from "./names.js";
import { prepareRetryConfig } from "./node-errors.js";
import { isBaseTool } from "./tools.js";

const lasting = new WeakSet();

/** Whether a node was made with the application, and not for a run. */
export const isLastingNode = (node) => lasting.has(node);

export class BaseNode {
  constructor({ name, description = "", rerunOnResume = false, waitForOutput = false, retryConfig, timeout, inputSchema, outputSchema, stateSchema, isolationScope } = {}) {
    if (typeof name !== "string" || name.trim() === "") throw new Error("A node needs a name: a string that is not empty.");
    Object.assign(this, { name: name.trim(), description, rerunOnResume, waitForOutput, retryConfig, timeout, inputSchema, outputSchema, stateSchema, isolationScope });
    this.preparedRetryConfig = retryConfig && prepareRetryConfig(retryConfig);
    setMark(this, "workflow.baseNode");
    if (loading()) lasting.add(this);
  }
  get requiresAllPredecessors() {
    return false;
  }
  // biome-ignore lint/correctness/useYield: it only refuses
  async *runImpl() {
    throw new Error(`${this.constructor.name} must implement runImpl`);
  }
}

/** The base of nodes of the author's own. */
export class WorkflowNode extends BaseNode {
  // biome-ignore lint/correctness/useYield: it only refuses
  async *runNodeImpl() {
    throw new Error(`${this.constructor.name} must implement runNodeImpl`);
  }
  async *runImpl(ctx, input) {
    yield* this.runNodeImpl(ctx, input);
  }
}

export class FunctionNode extends BaseNode {
  constructor(name, handler, config = {}) {
    if (typeof handler !== "function") throw new TypeError(`The FunctionNode "${name}" needs a function.`);
    super({ ...config, name });
    this.handler = handler;
    this.authConfig = config.authConfig;
  }
}

export class JoinNode extends BaseNode {
  get requiresAllPredecessors() {
    return true;
  }
}

export class ToolNode extends BaseNode {
  constructor(tool, config = {}) {
    super({ ...config, name: config.name ?? tool.name });
    this.tool = tool;
  }
}

export class ParallelWorker extends BaseNode {
  constructor(inner, { maxParallelWorkers } = {}) {
    const built = buildNode(inner);
    super({ name: built.name, rerunOnResume: true });
    if (maxParallelWorkers !== undefined && !(maxParallelWorkers >= 1)) throw new Error("maxParallelWorkers must be 1 or more.");
    this.inner = built;
    this.maxParallelWorkers = maxParallelWorkers;
  }
}

/** Where the edges of a workflow begin. */
export const START = new BaseNode({ name: "__START__" });

/** The route that is taken if no other one is. */
export const DEFAULT_ROUTE = "__DEFAULT__";

export class Edge {
  constructor(fromNode, toNode, route = null) {
    Object.assign(this, { fromNode, toNode, route });
    setMark(this, "workflow.edge");
  }
}

export class Graph {
  constructor(edges) {
    this.edges = edges;
    this.nodes = [...new Set(edges.flatMap(({ fromNode, toNode }) => [fromNode, toNode]))];
  }
  get terminalNodeNames() {
    return new Set(this.nodes.filter((node) => node !== START && !this.edges.some((edge) => edge.fromNode === node)).map((node) => node.name));
  }
}

export class Workflow extends BaseNode {
  constructor(config) {
    super({ ...config, rerunOnResume: config.rerunOnResume ?? true });
    const { edges, dynamicEntry, maxConcurrency } = config;
    const hasEdges = list(edges).length > 0;
    if (hasEdges === Boolean(dynamicEntry)) throw new Error(`The workflow "${this.name}" needs either edges or a dynamicEntry.`);
    if (maxConcurrency !== undefined && !(Number.isInteger(maxConcurrency) && maxConcurrency >= 1)) {
      throw new Error(`maxConcurrency of the workflow "${this.name}" must be a whole number above 0, and is ${maxConcurrency}.`);
    }
    this.maxConcurrency = maxConcurrency;
    this.dynamicEntry = dynamicEntry;
    if (hasEdges) this.graph = new Graph(edgesOf(edges));
    setMark(this, "workflow.workflow");
  }
  get subAgents() {
    return this.graph?.nodes.filter((one) => isBaseAgent(one) || isWorkflow(one)) ?? [];
  }
  findAgent(name) {
    if (this.name === name) return this;
    for (const one of this.subAgents) {
      const found = one.findAgent(name);
      if (found) return found;
    }
    return undefined;
  }
}

/** A workflow as an agent, which every Workflow is here. It is not in the package, but in samples of its repository. */
export class WorkflowAgent extends Workflow {
  constructor(config) {
    if (isWorkflow(config)) return config;
    super(config);
  }
}

export const isBaseNode = (value) => hasMark(value, "workflow.baseNode") || isBaseAgent(value);
export const isWorkflow = (value) => hasMark(value, "workflow.workflow");
export const isRunnableRoot = (value) => isBaseAgent(value) || isWorkflow(value);
const isEdge = (value) => hasMark(value, "workflow.edge");
const isNodeLike = (value) => value === "START" || isBaseNode(value) || typeof value === "function" || isBaseTool(value);
const isPlain = (value) => typeof value === "object" && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** A root that can be run, made of a node, a tool or a function. */
export function asRunnableRoot(root) {
  if (isRunnableRoot(root)) return root;
  if (!isNodeLike(root) || root === "START") throw new TypeError("The root must be an agent, a Workflow, or something that can be a node.");
  const built = buildNode(root);
  return new Workflow({ name: built.name, description: built.description, edges: [["START", built]] });
}

const overridable = ["name", "description", "rerunOnResume", "retryConfig", "timeout", "inputSchema", "outputSchema", "stateSchema", "isolationScope"];

/** Makes a node of a function, a tool, an agent or a node. */
export function node(nodeLike, options = {}) {
  return buildNode(nodeLike, options);
}

export function buildNode(nodeLike, options = {}) {
  const { parallelWorker, maxParallelWorkers } = options;
  if (maxParallelWorkers !== undefined && !parallelWorker) throw new Error("maxParallelWorkers needs parallelWorker: true.");
  const built = single(nodeLike, options);
  if (!parallelWorker) return built;
  if (built === START) throw new Error("The start of a workflow cannot be a ParallelWorker.");
  return new ParallelWorker(built, { maxParallelWorkers });
}

function single(nodeLike, options) {
  if (nodeLike === "START") return START;
  if (isBaseNode(nodeLike)) return changed(nodeLike, options);
  if (typeof nodeLike === "function") {
    const name = options.name ?? nodeLike.name;
    if (!name) throw new Error("The function of a node has no name: use node(fn, { name }).");
    return new FunctionNode(name, nodeLike, options);
  }
  if (isBaseTool(nodeLike)) return new ToolNode(nodeLike, options);
  throw new Error(`A node cannot be made of ${nodeLike === null ? "null" : typeof nodeLike}: use a function, a tool, an agent or a node.`);
}

const given = new WeakSet(); // agents whose inputSchema is an option of the node

/** Whether the inputSchema is that of the agent, and not one that the node was given. */
export const ownsInputSchema = (node) => isBaseAgent(node) && !given.has(node);

// A copy of a node with other options; the node itself if there are none.
function changed(one, options) {
  const keys = [...overridable, ...("authConfig" in one ? ["authConfig"] : [])];
  const changes = Object.fromEntries(keys.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]));
  if (Object.keys(changes).length === 0) return one;
  if (changes.retryConfig) changes.preparedRetryConfig = prepareRetryConfig(changes.retryConfig);
  if (isBaseAgent(one)) {
    const copy = one.clone(changes);
    if (changes.inputSchema || given.has(one)) given.add(copy);
    return copy;
  }
  const copy = Object.assign(Object.create(Object.getPrototypeOf(one), Object.getOwnPropertyDescriptors(one)), changes);
  if (loading()) lasting.add(copy);
  return copy;
}

/** The edges of chains such as ["START", a, [b, c], { route: d }]. */
function edgesOf(items) {
  const built = new Map();
  const nodeOf = (like) => {
    if (!isNodeLike(like)) throw new Error(`An edge has ${like === null ? "null" : typeof like} in it, which cannot be a node.`);
    if (!built.has(like)) built.set(like, buildNode(like));
    return built.get(like);
  };
  const endsOf = (element) => (isPlain(element) ? Object.values(element).flat() : list(element)).map(nodeOf);
  const all = [];
  for (const item of items) {
    if (isEdge(item)) {
      all.push(new Edge(nodeOf(item.fromNode), nodeOf(item.toNode), item.route));
      continue;
    }
    if (!Array.isArray(item)) throw new Error(`edges has ${typeof item} in it: use an Edge, or a list of nodes.`);
    for (let i = 1; i < item.length; i++) {
      const [from, to] = [item[i - 1], item[i]];
      if (isPlain(to) && isPlain(from)) throw new Error("A chain has two maps of routes in a row: use two chains.");
      if (isPlain(to) && Object.keys(to).length === 0) throw new Error("A map of routes is empty.");
      for (const [route, targets] of isPlain(to) ? Object.entries(to) : [[null, to]]) {
        for (const a of endsOf(from)) for (const b of endsOf(targets)) all.push(new Edge(a, b, route));
      }
    }
  }
  return all;
}
