// The description of workflows and their nodes that Go builds its own from.
import { expose, forget } from "../guest.js";
import { isBaseAgent, isLlmAgent } from "./agents.js";
import { open } from "./context.js";
import { describeAgent, dropAgent } from "./define.js";
import { describeTools } from "./define-tools.js";
import { list } from "./names.js";
import { run } from "./node-context.js";
import { JoinNode, ParallelWorker, START, ToolNode, isLastingNode, isWorkflow } from "./workflow.js";

/** What a workflow has that other agents do not. */
export async function describeGraph(workflow) {
  const user = (agent) => describeAgent(agent, workflow, `node "${agent.name}"`);
  if (!workflow.graph) return { entry: await definitionOf(workflow, user) };
  const nodes = workflow.graph.nodes.filter((node) => node !== START);
  return {
    nodes: await Promise.all(nodes.map((node) => definitionOf(node, user))),
    edges: workflow.graph.edges.map(({ fromNode, toNode, route }) => ({ from: nodes.indexOf(fromNode), to: nodes.indexOf(toNode), routes: list(route).map(String) })),
    maxConcurrency: workflow.maxConcurrency ?? 0,
  };
}

const described = new WeakMap(); // nodes that were made with the application

/** A node for runNode, and a function that undoes the description. */
export async function describeNode(node) {
  const agents = [];
  const user = (agent) => {
    agents.push(agent);
    return describeAgent(agent);
  };
  if (isLastingNode(node) && !described.has(node)) described.set(node, definitionOf(node, user));
  if (described.has(node)) return { definition: await described.get(node), release() {} };
  const owners = [];
  const definition = await definitionOf(node, user, owners);
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

async function definitionOf(node, user, owners) {
  const settings = settingsOf(node);
  if (isBaseAgent(node)) return { ...settings, kind: "agent", history: isLlmAgent(node) && node.includeContentsExplicit && node.includeContents !== "none", agent: await user(node) };
  if (isWorkflow(node) && node.graph) return { ...settings, kind: "agent", agent: await user(node) };
  if (node instanceof JoinNode) return { ...settings, kind: "join" };
  if (node instanceof ParallelWorker) return { ...settings, kind: "worker", inner: await definitionOf(node.inner, user, owners), maxWorkers: node.maxParallelWorkers ?? 0 };
  owners?.push(node);
  if (node instanceof ToolNode) {
    await node.tool.bind?.(); // where Go has the declaration
    const [tool] = await describeTools([node.tool], user, (fn) => expose((args, call) => fn(args, open(call, node)), node));
    if (!tool) throw new Error(`The tool of the node "${node.name}" cannot be called.`);
    return { ...settings, kind: "tool", tool };
  }
  return { ...settings, kind: "function", fn: expose((params, call) => run(node, workOf(node), params, call), node) };
}

const workOf = (node) => node.handler ?? node.dynamicEntry ?? ((ctx, input) => node.runImpl(ctx, input));
