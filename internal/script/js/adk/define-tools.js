// The tools of an agent: those that it always has, and those of the author's own
// toolsets, which are asked before every model call. toolsets.go is the other half.
import { expose } from "../guest.js";
import { Context, open, outside } from "./context.js";
import { isLive } from "./mcp.js";
import { refusal } from "./names.js";
import { NodeTool } from "./node-tool.js";
import { HostedToolset, isHosted } from "./toolsets.js";
import { BaseTool, BaseToolset, FunctionTool, describeTool, isAgentTool, isBaseTool, isBaseToolset } from "./tools.js";
import { isBaseNode } from "./workflow.js";

const opened = new WeakMap();

/** Opens the tools of an agent that is described. */
export async function openAgent(agent, describeAgent) {
  const given = await openTools(agent, agent.tools);
  const own = given.filter(isOwnSet).map((set) => new OwnSet(set, agent, describeAgent));
  const all = { tools: given.filter((one) => !isLive(one) && !isOwnSet(one)), live: given.filter(isLive), own };
  opened.set(agent, all);
  return all;
}

/** Undoes openAgent. The engine does not see by itself that only the agent leads to
 * what leads back to it. */
export const closeAgent = (agent) => opened.delete(agent);

/** The tools of an agent that has been described, for a call in a run of it. */
export async function toolsNow(agent, call) {
  const { tools, own } = opened.get(agent) ?? { tools: [], own: [] };
  return own.length === 0 ? tools : [...tools, ...(await ownTools(own, call))];
}

async function ownTools(own, call) {
  const all = [];
  for (const set of own) all.push(...(await set.now(call)));
  return all;
}

/** The tool of a name, or what is known of it. */
export const toolNow = async (agent, call, name) => (await toolsNow(agent, call)).find((tool) => tool.name === name) ?? { name };

const overrides = (object, base, method) => typeof object[method] === "function" && object[method] !== base.prototype[method];

/** Whether a tool changes requests. */
export const worksOnRequests = (tool) => !tool.providerTool && overrides(tool, BaseTool, "processLlmRequest");

/** What toolsets of the author's own, and the tools in them, do to a request. */
export async function workOnRequest(own, call, toolContext, llmRequest) {
  for (const { set } of own) {
    if (overrides(set, BaseToolset, "processLlmRequest")) await set.processLlmRequest(toolContext, llmRequest);
  }
  for (const tool of await ownTools(own, call)) {
    if (tool.providerTool || worksOnRequests(tool)) await tool.processLlmRequest({ toolContext, llmRequest });
  }
}

/** Tools as Go has to know them: agents described, functions by their number. */
export async function describeTools(tools, describeAgent, numberOf) {
  const out = [];
  for (const tool of tools) {
    const { agent: inner, run, declared, builtIn, ...rest } = describeTool(tool);
    if (builtIn) {
      out.push({ ...rest, kind: "builtin" });
      continue;
    }
    // A tool may do nothing but change requests.
    if (!inner && !declared && (tool.providerTool || worksOnRequests(tool))) continue;
    if (inner) out.push({ ...rest, kind: "agent", agent: await describeAgent(inner, rest.name) });
    else if (isHosted(tool)) out.push({ kind: "hosted", name: rest.name, description: rest.description, ...tool.bound });
    else out.push({ ...rest, kind: "function", fn: numberOf(run) });
  }
  return out;
}

// How many runs a toolset remembers what it said to. It is asked again when one is
// not among them.
const mostRuns = 100;

/** A toolset of the author's own. Its answer may be another one each time. */
class OwnSet {
  #agent;
  #describeAgent;
  #agents = new Set(); // that were in it when the application was loaded
  #runs = new Map();
  constructor(set, agent, describeAgent) {
    this.set = set;
    this.#agent = agent;
    this.#describeAgent = describeAgent;
  }
  async #ask(context) {
    return openTools(this.#agent, await this.set.getTools(context), context);
  }
  #askIn(call) {
    return this.#ask(new Context(call, this.#agent, true));
  }
  #remember(call, tools) {
    const key = keyOf(call);
    this.#runs.delete(key); // the latest is the last
    this.#runs.set(key, tools);
    if (this.#runs.size > mostRuns) this.#runs.delete(this.#runs.keys().next().value);
  }
  /** What it has said to the latest model call of the run. */
  async now(call) {
    return this.#runs.get(keyOf(call)) ?? this.#askIn(call);
  }
  async describe() {
    await this.#findAgents();
    const run = expose(async ({ tool, args }, call) => {
      const among = (tools) => tools.find((one) => (one.name ?? describeTool(one).name) === tool);
      const found = among(await this.now(call)) ?? among(await this.#askIn(call));
      if (!found) throw new Error(`The toolset does not have the tool "${tool}" any more`);
      return describeTool(found).run(args, open(call, this.#agent), call);
    }, this.#agent);
    const inner = (agent) => {
      if (this.#agents.has(agent)) return this.#describeAgent(agent);
      throw new Error(`The toolset has an AgentTool of "${agent.name}", which it did not have when the application was loaded: list the AgentTool in the tools of "${this.#agent.name}"`);
    };
    const list = expose(async ({ alone }, call) => {
      const tools = await this.#askIn(call);
      // Where there are several engines, another one may be asked the next time.
      if (alone) this.#remember(call, tools);
      return describeTools(tools, inner, () => run);
    }, this.#agent);
    return { list };
  }
  // Go has to know agents from the start, so it is asked for them outside of any
  // run. Its other tools, or that it fails, do not matter yet.
  async #findAgents() {
    let tools = [];
    try {
      tools = await this.#ask(outside(this.#agent));
    } catch (error) {
      console.warn(`A toolset of the agent "${this.#agent.name}" has no tools while the application is loaded: ${error?.message ?? error}`);
    }
    for (const { agent } of tools.filter(isAgentTool)) {
      this.#agents.add(agent);
      await this.#describeAgent(agent);
    }
  }
}

const keyOf = ({ info }) => `${info.invocationId} ${info.branch ?? ""}`;

/** Whether the author's code says what is in a toolset. */
const isOwnSet = (set) =>
  !isBaseTool(set) && isBaseToolset(set) && !isLive(set) && !(set instanceof HostedToolset && set.getTools === HostedToolset.prototype.getTools);

const nodeTools = new WeakMap();

/** A node as a tool, the same one each time. */
function nodeTool(node) {
  if (!nodeTools.has(node)) nodeTools.set(node, new NodeTool(node));
  return nodeTools.get(node);
}

/** Tools that were given in one way or another: promises awaited, functions
 * wrapped, and toolsets opened. Without a context, as long as no run is there to
 * ask for, those stay that may have other tools each time. */
async function openTools(agent, given, context) {
  const tool = refusal(given) ? given : await given;
  if (Array.isArray(tool)) {
    const all = [];
    for (const one of tool) all.push(...(await openTools(agent, one, context)));
    return all;
  }
  if (refusal(tool)) throw new Error(`The agent "${agent.name}" has a tool that cannot be used: ${refusal(tool)}`);
  if (isBaseTool(tool)) {
    await tool.bind?.(); // where Go has the declaration
    return [tool];
  }
  if (typeof tool === "function") return [new FunctionTool(tool)];
  if (isBaseToolset(tool)) {
    if (!context && (isLive(tool) || isOwnSet(tool))) return [tool];
    return openTools(agent, await tool.getTools(context ?? outside(agent)), context);
  }
  if (isBaseNode(tool)) return [nodeTool(tool)];
  if (tool === undefined || tool === null) throw new Error(`The agent "${agent.name}" has ${tool} among its tools: is a name misspelt, or used before it is defined?`);
  // Literals, and classes of the author's that look like tools.
  if (["execute", "fn", "func"].some((name) => Object.hasOwn(tool, name))) return [new FunctionTool(tool)];
  if (typeof (tool.runAsync ?? tool.execute) === "function") return [tool];
  throw new Error(`The agent "${agent.name}" has something among its tools that is not a tool: ${typeof tool}`);
}
