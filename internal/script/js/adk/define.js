// The description of an application that Go builds its agents from. Functions
// in it are numbers, by which Go calls them.
import { expose } from "../guest.js";
import { BaseAgent, isBaseAgent, isLlmAgent, isLoopAgent, isParallelAgent, isRemoteAgent, isRoutedAgent, isSequentialAgent } from "./agents.js";
import { Context, InvocationContext, open } from "./context.js";
import { describeLlm, first } from "./define-llm.js";
import { describePlugins } from "./define-plugins.js";
import { describeGraph } from "./define-workflow.js";
import { describeAgent, describeWith } from "./described.js";
import { isEvent, toWire } from "./events.js";
import { list } from "./names.js";
import { isRunnableRoot, isWorkflow } from "./workflow.js";

export { describeAgent, dropAgent } from "./described.js";

// Files end with `if (require.main === module) main()`. The bundler makes the
// left side undefined, and leaves the right one, in files that use import.
globalThis.module ??= {};

export async function describeApp(exports) {
  const { rootAgent, plugins, credentialCall } = await findRoot(exports);
  if (credentialCall !== undefined && typeof credentialCall !== "string") throw new Error("credentialCall of the App is not a string");
  return { credentialCall, root: await describeAgent(rootAgent), plugins: describePlugins(plugins, rootAgent, rootAgent) };
}

// The root agent, alone or in an App.
async function findRoot(exports) {
  const standard = await exports.default;
  const all = { ...(isRunnableRoot(standard) ? {} : standard), ...exports };
  for (const name of ["app", "rootApp", "default"]) {
    const value = await all[name];
    if (!isRunnableRoot(value) && isRunnableRoot(value?.rootAgent)) return value;
  }
  for (const name of ["rootAgent", "root_agent", "agent", "default"]) {
    const value = await all[name];
    if (isRunnableRoot(value)) return { rootAgent: value };
    if (isRunnableRoot(value?.rootAgent)) return value;
  }
  const agents = Object.entries(all).filter(([, value]) => isRunnableRoot(value));
  if (agents.length === 1) return { rootAgent: agents[0][1] };
  for (const name of ["rootAgent", "root_agent", "agent", "default"]) {
    const value = await all[name];
    if (typeof value === "function" && agents.length === 0) throw new Error(`${name} is ${madeBy(value)}`);
    // The default may be an object of all that a CommonJS module exports.
    if (name !== "default" && name in all && agents.length === 0) {
      throw new Error(`${name} is ${kindOf(value)}, which is not an agent: export one, for example \`export const rootAgent = new LlmAgent({...})\``);
    }
  }
  if (agents.length > 1) throw new Error(`Several agents are exported (${agents.map(([name]) => name).join(", ")}): export the root as rootAgent`);
  throw new Error("No agent is exported: export the root agent as rootAgent, for example `export const rootAgent = new LlmAgent({...})`");
}

// How an agent comes of what was exported in its place.
function madeBy(fn) {
  const isClass = Object.getOwnPropertyDescriptor(fn, "prototype")?.writable === false;
  if (!isClass) return "a function: export the agent that it returns";
  return `the class ${fn.name}: export an agent, which new makes of it, such as new ${fn.name}({...})`;
}

const kinds = { LlmAgent: isLlmAgent, SequentialAgent: isSequentialAgent, ParallelAgent: isParallelAgent, LoopAgent: isLoopAgent, RoutedAgent: isRoutedAgent, RemoteA2AAgent: isRemoteAgent };

describeWith(describe);

async function describe(agent) {
  if (isWorkflow(agent)) return { kind: "Workflow", name: agent.name, description: agent.description ?? "", ...(await describeGraph(agent)) };
  const kind = Object.keys(kinds).find((name) => kinds[name](agent)) ?? "BaseAgent";
  const out = { kind, name: agent.name, description: agent.description ?? "", subAgents: [] };
  for (const child of children(agent)) out.subAgents.push(await describeAgent(child, agent, `sub-agent "${child.name}"`));
  for (const when of ["before", "after"]) {
    const callbacks = list(agent[`${when}AgentCallback`]);
    if (callbacks.length > 0) {
      out[`${when}Agent`] = expose((_, call) => {
        const context = open(call, agent);
        return first(callbacks, (cb) => cb(context));
      }, agent);
    }
  }
  if (kind === "BaseAgent") return { ...out, run: expose((_, call) => run(agent, new InvocationContext(call, agent)), agent) };
  if (agent.runAsyncImpl !== BaseAgent.prototype.runAsyncImpl) {
    const advice = `extend BaseAgent, and run the ${kind} as a sub-agent`;
    throw new Error(`The agent "${agent.name}" is of a class that replaces runAsyncImpl of ${kind}, which is not supported by this version: ${advice}`);
  }
  if (kind === "LlmAgent") return { ...out, ...(await describeLlm(agent, (inner, tool) => describeAgent(inner, agent, `tool "${tool ?? inner.name}"`))) };
  if (kind === "RoutedAgent") out.route = expose((failed, call) => route(agent, failed, call), agent);
  if (kind === "RemoteA2AAgent") out.card = agent.agentCard;
  if (kind === "LoopAgent") out.maxIterations = agent.maxIterations ?? 0;
  return out;
}

// What an agent's router says, as the name of an agent. It is asked again after
// a failure, until it has nothing more to say.
async function route(agent, failed, call) {
  const keyOf = (name) => Object.keys(agent.agents).find((key) => agent.agents[key].name === name);
  const failure = failed && { failedKeys: new Set(failed.names.map(keyOf)), lastError: new Error(failed.error) };
  const key = await agent.router(agent.agents, new Context(call, agent, true), failure);
  if (key === undefined || key === null) {
    if (failed) return "";
    throw new Error("it returned no key");
  }
  if (!agent.agents[key]) throw new Error(`it returned ${JSON.stringify(key)}; the keys are: ${Object.keys(agent.agents).join(", ")}`);
  return agent.agents[key].name;
}

// A custom agent may keep the agents that it runs in its fields only.
function children(agent) {
  const all = new Set(agent.subAgents);
  if (!isLlmAgent(agent)) {
    for (const [key, value] of Object.entries(agent)) {
      for (const one of list(value)) if (key !== "parentAgent" && isBaseAgent(one) && one !== agent && !one.parentAgent) all.add(one);
    }
  }
  for (const child of all) child.parentAgent ??= agent;
  return all;
}

function kindOf(value) {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? `an object with ${Object.keys(value).join(", ") || "nothing in it"}` : `a ${typeof value}`;
}

/** Runs a custom agent. What it wrote to the state and saved by itself goes with
 * its next event, or in one of its own. */
async function* run(agent, ctx) {
  const take = (written) => {
    const delta = { ...written };
    for (const key of Object.keys(written)) delete written[key];
    return delta;
  };
  const { stateDelta: state, artifactDelta: files } = ctx.actions;
  const changed = (more) => [...(ctx.actions.stateChanges?.splice(0) ?? []), ...(more ?? [])];
  for await (const event of agent.runAsyncImpl(ctx)) {
    if (event === undefined || event === null) continue;
    if (!isEvent(event)) throw new Error(`The agent "${agent.name}" yielded ${kindOf(event)}, which is not an event: use createEvent({ author, content })`);
    const out = toWire(event);
    if (!out.partial) {
      const { actions } = out;
      const stateChanges = changed(actions?.stateChanges);
      out.actions = { ...actions, ...(stateChanges.length > 0 && { stateChanges }), stateDelta: { ...take(state), ...actions?.stateDelta }, artifactDelta: { ...take(files), ...actions?.artifactDelta } };
    }
    yield out;
    ctx.refresh();
    if (ctx.endInvocation) break;
  }
  ctx.end();
  const stateDelta = take(state);
  const artifactDelta = take(files);
  const stateChanges = changed();
  if (Object.keys(stateDelta).length + Object.keys(artifactDelta).length + stateChanges.length > 0) yield { actions: { stateDelta, artifactDelta, stateChanges } };
  if (ctx.endInvocation) yield { endInvocation: true };
}
