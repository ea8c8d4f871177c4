// The description of workflows and their nodes that Go builds its own from.
import { expose, forget } from "../guest.js";
import { isBaseAgent, isLlmAgent } from "./agents.js";
import { open } from "./context.js";
import { describeTools } from "./define-tools.js";
import { describeAgent, dropAgent } from "./described.js";
import { list } from "./names.js";
import { NodeContext, checked, run } from "./node-context.js";
import { describeFailure } from "./node-errors.js";
import { isZod } from "./schema.js";
import { checkState, isStateSchema } from "./state-schema.js";
import { JoinNode, ParallelWorker, START, ToolNode, isLastingNode, isWorkflow, ownsInputSchema } from "./workflow.js";

const outer = new WeakMap(); // the schema of the workflow that a workflow is a node of

/** What a workflow has that other agents do not. */
export async function describeGraph(workflow) {
  const user = (agent) => describeAgent(agent, workflow, `node "${agent.name}"`);
  const scope = { user, schema: workflow.stateSchema ?? outer.get(workflow) };
  if (!workflow.graph) return { entry: await definitionOf(workflow, scope) };
  const nodes = workflow.graph.nodes.filter((node) => node !== START);
  return {
    nodes: await Promise.all(nodes.map((node) => definitionOf(node, scope))),
    edges: workflow.graph.edges.map(({ fromNode, toNode, route }) => ({ from: nodes.indexOf(fromNode), to: nodes.indexOf(toNode), routes: list(route).map(String) })),
    maxConcurrency: workflow.maxConcurrency ?? 0,
  };
}

const described = new WeakMap(); // nodes that were made with the application, by schema

/** A node for runNode, and a function that undoes the description. The schema is
 * that of the node that runs it. */
export async function describeNode(node, schema) {
  const agents = [];
  const user = (agent) => {
    agents.push(agent);
    return describeAgent(agent);
  };
  if (isLastingNode(node)) {
    if (!described.has(node)) described.set(node, new Map());
    const known = described.get(node);
    if (!known.has(schema)) known.set(schema, definitionOf(node, { user, schema }));
    return { definition: await known.get(schema), release() {} };
  }
  const owners = [];
  const definition = await definitionOf(node, { user, schema, owners });
  const release = () => {
    for (const agent of agents) dropAgent(agent);
    for (const owner of owners) forget(owner);
  };
  return { definition, release };
}

const settingsOf = ({ name, retryConfig, preparedRetryConfig, timeout, rerunOnResume, waitForOutput, isolationScope }) => ({
  name,
  retry: retryConfig && preparedRetryConfig,
  timeout: timeout > 0 ? timeout : 0,
  rerunOnResume: Boolean(rerunOnResume),
  waitForOutput: Boolean(waitForOutput),
  isolationScope: isolationScope === true ? "*" : (isolationScope ?? ""),
});

// Names the schemas of a node that nothing checks.
function warn({ name, inputSchema, outputSchema, stateSchema }, what, unchecked) {
  const all = Object.entries({ inputSchema, outputSchema, stateSchema });
  for (const [key, schema] of all) {
    if (schema && unchecked(key, schema)) console.warn(`The ${key} of the node "${name}" has no effect in this version: ${what}`);
  }
}

// What Go calls with the data of a node that it runs itself. undefined if no schema
// can be checked.
function checkOf(node, schemas, owners) {
  const { input, output, state } = schemas;
  if (![input, output].some(isZod) && !isStateSchema(state)) return undefined;
  const check = ({ data, value }) => {
    if (data === "state") for (const [key, change] of Object.entries(value)) checkState(state, key, change);
    if (!isZod(schemas[data]) || data === "state") return value;
    const result = checked(node, data, value);
    // The schema of an agent says what it needs, and not all that it gets.
    return data === "input" && ownsInputSchema(node) && result?.constructor === Object ? { ...result, ...value, ...result } : result;
  };
  const owner = owners ? {} : node;
  owners?.push(owner);
  return expose((params) => {
    try {
      return { value: check(params) };
    } catch (error) {
      return { failure: describeFailure(error) };
    }
  }, owner);
}

async function definitionOf(node, scope) {
  const { user, owners } = scope;
  const schema = node.stateSchema ?? scope.schema;
  const settings = settingsOf(node);
  // Nodes that are made for a run would repeat it in each of them.
  const unchecked = owners ? () => {} : (what, which) => warn({ ...node, name: node.name, stateSchema: schema }, what, which);
  const both = (key) => key !== "stateSchema";
  const other = (key, one) => (key === "stateSchema" ? !isStateSchema(one) : !isZod(one));
  const onlyZod = "only schemas of zod are checked";
  if (isBaseAgent(node)) {
    unchecked("it is an agent. Check in a function after it", (key) => key === "outputSchema" && !isLlmAgent(node));
    unchecked(onlyZod, (key, one) => key !== "outputSchema" && other(key, one));
    const check = checkOf(node, { input: node.inputSchema, state: schema }, owners);
    return { ...settings, check, kind: "agent", history: isLlmAgent(node) && node.includeContentsExplicit && node.includeContents !== "none", agent: await user(node) };
  }
  if (isWorkflow(node) && node.graph) {
    unchecked("it is a workflow. Put it on the node that ends it", (key) => key === "outputSchema");
    unchecked(onlyZod, (key, one) => key === "inputSchema" && other(key, one));
    if (!outer.has(node)) outer.set(node, scope.schema);
    else if (!node.stateSchema && outer.get(node) !== scope.schema) throw new Error(`The workflow "${node.name}" is used with different stateSchemas: give it one of its own`);
    return { ...settings, check: checkOf(node, { input: node.inputSchema }, owners), kind: "agent", agent: await user(node) };
  }
  if (node instanceof JoinNode) {
    unchecked("it is a join. Put it on the node after it", both);
    return { ...settings, kind: "join" };
  }
  if (node instanceof ParallelWorker) return { ...settings, kind: "worker", inner: await definitionOf(node.inner, { ...scope, schema }), maxWorkers: node.maxParallelWorkers ?? 0 };
  owners?.push(node);
  if (node instanceof ToolNode) {
    unchecked(onlyZod, (key, one) => both(key) && other(key, one));
    await node.tool.bind?.(); // where Go has the declaration
    const [tool] = await describeTools([node.tool], user, (fn) => expose((args, call) => fn(args, Object.assign(open(call, node), { stateSchema: schema }), call), node));
    if (!tool) throw new Error(`The tool of the node "${node.name}" cannot be called.`);
    return { ...settings, check: checkOf(node, { input: node.inputSchema, output: node.outputSchema }, owners), kind: "tool", tool };
  }
  unchecked(onlyZod, other);
  return { ...settings, kind: "function", authConfig: node.authConfig, fn: expose((params, call) => run(new NodeContext(call, node, schema, describeNode, params), workOf(node), params.input), node) };
}

const workOf = (node) => node.handler ?? node.dynamicEntry ?? ((ctx, input) => node.runImpl(ctx, input));
