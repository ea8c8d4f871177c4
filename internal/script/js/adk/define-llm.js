// The description of an agent that a model drives: its model, its tools, and
// the functions that are called around both.
import { expose } from "../guest.js";
import { isLlmAgent } from "./agents.js";
import { LlmSummarizer, asCompacted, settingsOf } from "./compaction.js";
import { describeCode } from "./code.js";
import { Context, open } from "./context.js";
import { received } from "./events.js";
import { describeTools, openAgent, toolNow, toolsNow, workOnRequest, worksOnRequests } from "./define-tools.js";
import { fill } from "./instructions.js";
import { HostedLlm, LLMRegistry, isBaseLlm } from "./models.js";
import { describeSet } from "./mcp.js";
import { STYLE, hasMark, list, refusal } from "./names.js";
import { BasePlanner, BuiltInPlanner, PlanReActPlanner } from "./planners.js";
import { process, remaining } from "./processors.js";
import { receivedRequest, receivedResponse, sendable } from "./requests.js";
import { toSchema } from "./schema.js";

/** The first value that is something. */
export async function first(callbacks, call) {
  for (const cb of callbacks) {
    const value = await call(cb);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

export async function describeLlm(agent, describeAgent) {
  const { tools, live, own } = await openAgent(agent, describeAgent);
  const processors = remaining(agent);
  const toolsets = live.map((set) => describeSet(set, agent));
  for (const set of own) toolsets.push(await set.describe());
  return {
    ...(processors.instruct ? instructionOf(agent) : { instruction: "" }),
    ...hooksOf(agent, tools, own, processors.own),
    introduce: processors.introduce,
    task: agent.mode === "task",
    planner: describePlanner(agent),
    code: describeCode(agent),
    model: describeModel(hasModel(agent).model, agent),
    outputKey: agent.outputKey ?? "",
    includeContents: agent.includeContents === "none" ? "none" : "",
    inputSchema: toSchema(agent.inputSchema),
    outputSchema: typeof agent.outputSchema === "function" ? { type: "object" } : toSchema(agent.outputSchema),
    config: configOf(agent, tools),
    toolsets,
    ownSkills: own.some(({ set }) => hasMark(set, "skillToolset")),
    disallowTransferToParent: Boolean(agent.disallowTransferToParent),
    disallowTransferToPeers: Boolean(agent.disallowTransferToPeers),
    compactions: agent.contextCompactors.map((one) => describeCompaction(agent, one)),
    tools: await describeTools(tools, describeAgent, (run) => expose((args, call) => run(args, open(call, agent), call), agent)),
  };
}

// One that has the model think by itself is a setting; see configOf.
function describePlanner(agent) {
  const { planner } = agent;
  if (!planner || planner instanceof BuiltInPlanner) return undefined;
  const read = planner.processPlanningResponse;
  const instruct = planner.buildPlanningInstruction;
  if (planner instanceof PlanReActPlanner && read === BasePlanner.prototype.processPlanningResponse && instruct === BasePlanner.prototype.buildPlanningInstruction) {
    return { react: true };
  }
  if (typeof read !== "function" || typeof instruct !== "function") {
    throw new Error(`The planner of the agent "${agent.name}" needs buildPlanningInstruction and processPlanningResponse: extend BasePlanner`);
  }
  return {
    instruct: expose(async ({ request }, call) => (await planner.buildPlanningInstruction(new Context(call, agent, true), receivedRequest(request, modelName(agent), call))) ?? "", agent),
    read: expose(async ({ parts }, call) => (await planner.processPlanningResponse(open(call, agent), parts)) ?? null, agent),
  };
}

function describeCompaction(agent, one) {
  const settings = settingsOf(one);
  if (!settings) {
    if (refusal(one)) throw new Error(refusal(one));
    throw new Error(`The agent "${agent.name}" has a compactor of its own kind: use one of the package, with a summarizer of your own if necessary`);
  }
  const { summarizer } = one;
  if (!summarizer) return settings;
  if (summarizer instanceof LlmSummarizer) return { ...settings, model: describeModel(summarizer.llm, agent), prompt: summarizer.prompt };
  // What an author's own summarizer gives is a text, a content or an event.
  const summarize = expose(async ({ events }) => {
    const made = await summarizer.summarize(events.map(received).map(asCompacted));
    const content = made?.compactedContent ?? made?.content ?? made;
    return { content: typeof content === "string" ? { parts: [{ text: content }] } : content };
  }, agent);
  return { ...settings, summarize };
}

// What Go can hand to a model; see config in settings.go.
const settings = [
  "temperature", "topP", "topK", "seed", "presencePenalty", "frequencyPenalty", "maxOutputTokens", "stopSequences",
  "responseMimeType", "responseSchema", "responseJsonSchema", "systemInstruction", "tools", "toolConfig", "thinkingConfig",
  "responseLogprobs", "logprobs", "safetySettings", "cachedContent", "labels", "serviceTier", "audioTimestamp",
  "enableEnhancedCivicAnswers", "imageConfig", "mediaResolution", "modelArmorConfig", "modelSelectionConfig",
  "responseModalities", "routingConfig", "speechConfig",
];

function configOf(agent, tools) {
  const { thinkingConfig } = agent.planner ?? {};
  const config = { ...(thinkingConfig && { thinkingConfig }), ...agent.generateContentConfig };
  const lost = Object.keys(config).filter((key) => !settings.includes(key) && config[key] !== undefined);
  if (lost.length > 0) console.warn(`generateContentConfig of the agent "${agent.name}": ${lost.join(", ")} has no effect in this version`);
  const provided = tools.map((tool) => tool.providerTool).filter(Boolean);
  return provided.length > 0 ? { ...config, tools: provided } : config;
}

function describeModel(model, agent) {
  if (model === undefined || model === null || model === "") return undefined;
  if (refusal(model)) throw new Error(refusal(model));
  const llm = typeof model === "string" ? LLMRegistry.newLlm(model) : model;
  // A class of the author's may do more than the one that it extends.
  if (llm.generateContentAsync === HostedLlm.prototype.generateContentAsync) return { name: llm.model, options: llm.options };
  if (!isBaseLlm(llm)) throw new Error("The model of an agent must be a name or an object with generateContentAsync");
  const name = String(llm.model ?? llm.constructor.name);
  return { name, fn: expose(({ request, stream }, call) => llm.generateContentAsync(receivedRequest(request, name, call), stream, call.signal), agent) };
}

// Without one the first run would fail.
function hasModel(agent) {
  for (let a = agent; a; a = a.parentAgent) if (isLlmAgent(a) && a.model) return agent;
  throw new Error(`No model found for ${agent.name}: give it, or an agent above it, a model`);
}

export function modelName(agent) {
  for (let a = agent; a; a = a.parentAgent) if (a.model) return typeof a.model === "string" ? a.model : a.model.model;
  return undefined;
}

// Go fills the places of a template. Only where a function is in the game is it
// done here, because what a function returns is not a template.
function instructionOf(agent) {
  const texts = [agent.rootAgent.globalInstruction, agent.instruction].filter(Boolean);
  if (texts.every((text) => typeof text !== "function")) return { instruction: texts.map(String).join("\n\n") };
  return {
    instructionFn: expose(async (_, call) => {
      const context = new Context(call, agent, true);
      const all = [];
      for (const text of texts) all.push(typeof text === "function" ? String((await text(context)) ?? "") : await fill(String(text), context));
      return all.filter(Boolean).join("\n\n");
    }, agent),
  };
}

/** What is called before and after the model, and before and after a tool. */
function hooksOf(agent, tools, own, processors) {
  const positional = agent[STYLE] === "positional";
  const out = {};
  const beforeModel = [
    ...tools.filter(worksOnRequests).map((tool) => async (toolContext, llmRequest) => void (await tool.processLlmRequest({ toolContext, llmRequest }))),
    ...(processors.length > 0 ? [(context, request) => process(processors, context, request)] : []),
    ...list(agent.beforeModelCallback).map((cb) => (positional ? cb : (context, request) => cb({ context, request }))),
  ];
  if (beforeModel.length + own.length > 0) {
    out.beforeModel = expose(async (params, call) => {
      const name = modelName(agent);
      const request = receivedRequest(params.request, name, call, await toolsNow(agent, call));
      const context = open(call, agent);
      await workOnRequest(own, call, context, request);
      const result = await first(beforeModel, (cb) => cb(context, request));
      if (request.model !== name) console.warn(`A callback of the agent "${agent.name}" asks for the model ${request.model}, which has no effect here: it stays ${name}`);
      if (!result) call.rest = { request: sendable(request) };
      return result;
    }, agent);
  }
  // What a callback returns counts, and else what it has made of its argument.
  const hook = (name, fn, more = 0) => {
    const callbacks = list(agent[`${name}Callback`]);
    if (callbacks.length + more === 0) return;
    out[name] = expose((params, call) => {
      const context = open(call, agent);
      return fn(params, (ask) => first(callbacks, (cb) => ask(cb, context)), call);
    }, agent);
  };
  hook("afterModel", async (params, run, call) => {
    const response = receivedResponse(params.response);
    const result = (await run((cb, context) => (positional ? cb(context, response) : cb({ context, response })))) ?? response;
    await process(agent.responseProcessors, call.context, result);
    return result;
  }, agent.responseProcessors.length);
  hook("beforeTool", async (params, run, call) => {
    const { args } = params;
    const tool = await toolNow(agent, call, params.tool);
    const result = await run((cb, context) => (positional ? cb(tool, args, context) : cb({ tool, args, context })));
    call.rest = { args };
    return result;
  });
  hook("afterTool", async (params, run, call) => {
    const { args, response } = params;
    const tool = await toolNow(agent, call, params.tool);
    const result = await run((cb, context) => (positional ? cb(tool, args, context, response) : cb({ tool, args, context, response })));
    return result ?? response;
  });
  return out;
}
