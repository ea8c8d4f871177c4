// The description of plugins that Go builds its own from.
import { expose } from "../guest.js";
import { open, InvocationContext } from "./context.js";
import { modelName } from "./define-llm.js";
import { toolNow, toolsNow } from "./define-tools.js";
import { describeNode } from "./define-workflow.js";
import { received, toWire } from "./events.js";
import { list } from "./names.js";
import { NodeContext } from "./node-context.js";
import { BasePlugin, ContextCompactionTrigger } from "./plugins.js";
import { receivedRequest, receivedResponse, sendable } from "./requests.js";

/** The plugins of the tree below and including root, until the owner is forgotten. */
export function describePlugins(plugins, root, owner) {
  return list(plugins).map((plugin) => describePlugin(plugin, root, owner));
}

function describePlugin(plugin, root, owner) {
  if (typeof plugin?.name !== "string" || plugin.name === "") throw new Error("A plugin must extend BasePlugin, and have a name");
  const out = { name: plugin.name };
  const agentOf = (call) => root.findAgent(call.info.agent) ?? root;
  // How each hook is called, with what Go sends and the context of the call.
  const hook = (name, method, fn) => {
    if (typeof plugin[method] !== "function" || plugin[method] === BasePlugin.prototype[method]) return;
    out[name] = expose((params, call) => fn(params, call, (given) => plugin[method](given)), owner);
  };
  const inRun = (call) => (call.context = new InvocationContext(call, root));
  hook("onUserMessage", "onUserMessageCallback", ({ message }, call, ask) => ask({ invocationContext: inRun(call), userMessage: message }));
  hook("beforeRun", "beforeRunCallback", (_, call, ask) => ask({ invocationContext: inRun(call) }));
  hook("afterRun", "afterRunCallback", async (_, call, ask) => void (await ask({ invocationContext: inRun(call) })));
  hook("onEvent", "onEventCallback", async ({ event }, call, ask) => {
    const other = await ask({ invocationContext: inRun(call), event: received(event) });
    return other ? toWire(other) : undefined;
  });
  for (const when of ["before", "after"]) {
    hook(`${when}Agent`, `${when}AgentCallback`, (_, call, ask) => {
      const agent = agentOf(call);
      return ask({ agent, callbackContext: open(call, agent) });
    });
  }
  for (const when of ["before", "after"]) {
    hook(`${when}Compaction`, `${when}ContextCompaction`, async ({ onRequest }, call, ask) => {
      const trigger = onRequest ? ContextCompactionTrigger.AgentControlled : ContextCompactionTrigger.Auto;
      await ask({ invocationContext: (call.context = new InvocationContext(call, agentOf(call))), trigger });
    });
  }
  const atNode = ({ path, runId }, call) => {
    const node = nodeAt(root, path);
    return (call.context = new NodeContext(call, node, undefined, describeNode, { path, runId, attempt: 1 }));
  };
  hook("beforeNode", "beforeNodeCallback", (params, call, ask) => {
    const nodeContext = atNode(params, call);
    return ask({ node: nodeContext.node, nodeContext, input: params.value ?? undefined });
  });
  hook("afterNode", "afterNodeCallback", (params, call, ask) => {
    const output = params.value ?? undefined;
    const nodeContext = Object.assign(atNode(params, call), { output });
    return ask({ node: nodeContext.node, nodeContext, output });
  });
  describeModelHooks(plugin, out, agentOf, owner);
  describeToolHooks(hook, agentOf);
  return out;
}

// The node of a path. One that was made for a run is known by its name only.
function nodeAt(root, path) {
  const [first, ...names] = path.split(".").map((name) => name.split("@")[0]);
  let found = root.findAgent(first);
  for (const name of names) found = [...(found?.graph?.nodes ?? []), found?.inner].find((one) => one?.name === name) ?? { name };
  return found ?? { name: names.at(-1) ?? first };
}

function describeModelHooks(plugin, out, agentOf, owner) {
  const own = (method) => typeof plugin[method] === "function" && plugin[method] !== BasePlugin.prototype[method];
  const about = async (call, request) => {
    const agent = agentOf(call);
    return { callbackContext: open(call, agent), llmRequest: receivedRequest(request, modelName(agent), call, await toolsNow(agent, call)) };
  };
  if (own("beforeModelCallback") || own("beforeToolSelection")) {
    out.beforeModel = expose(async ({ request }, call) => {
      const given = await about(call, request);
      if (own("beforeToolSelection")) await selectTools(plugin, given);
      const result = await plugin.beforeModelCallback?.(given);
      if (!result) call.rest = { request: sendable(given.llmRequest) };
      return result ?? undefined;
    }, owner);
  }
  if (own("afterModelCallback")) {
    out.afterModel = expose(async ({ response }, call) => {
      const llmResponse = receivedResponse(response);
      return (await plugin.afterModelCallback({ callbackContext: open(call, agentOf(call)), llmResponse })) ?? undefined;
    }, owner);
  }
  if (own("onModelErrorCallback")) {
    out.onModelError = expose(async ({ request, error }, call) => plugin.onModelErrorCallback({ ...(await about(call, request)), error: new Error(error) }), owner);
  }
}

// A plugin may choose which tools are declared to the model.
async function selectTools(plugin, { callbackContext, llmRequest }) {
  const chosen = await plugin.beforeToolSelection({ callbackContext, tools: { ...llmRequest.toolsDict } });
  if (chosen === undefined || chosen === null) return;
  const names = new Set(Array.isArray(chosen) ? chosen.map((tool) => tool.name ?? tool) : Object.keys(chosen));
  for (const group of list(llmRequest.config.tools)) {
    if (group.functionDeclarations) group.functionDeclarations = list(group.functionDeclarations).filter((d) => names.has(d.name));
  }
  for (const name of Object.keys(llmRequest.toolsDict)) if (!names.has(name)) delete llmRequest.toolsDict[name];
}

function describeToolHooks(hook, agentOf) {
  const about = async (params, call) => {
    const agent = agentOf(call);
    return { tool: await toolNow(agent, call, params.tool), toolArgs: params.args, toolContext: open(call, agent) };
  };
  hook("beforeTool", "beforeToolCallback", async (params, call, ask) => {
    const given = await about(params, call);
    const result = await ask(given);
    call.rest = { args: given.toolArgs };
    return result;
  });
  hook("afterTool", "afterToolCallback", async (params, call, ask) => ask({ ...(await about(params, call)), result: params.response }));
  hook("onToolError", "onToolErrorCallback", async (params, call, ask) => ask({ ...(await about(params, call)), error: new Error(params.error) }));
}
