import { InvalidArguments } from "../guest.js";
import { STYLE, hasMark, hide, optionsOf, setMark } from "./names.js";
import { INVALID, emptyObject, fromGenai, isZod, parse, toParameters } from "./schema.js";
import { bind } from "./functions.js";

const RUN = Symbol("run");

export class BaseTool {
  constructor(...args) {
    const o = optionsOf(args);
    this.name = o.name;
    this.description = o.description ?? (typeof args[1] === "string" ? args[1] : "");
    this.isLongRunning = o.isLongRunning ?? false;
    this.effect = o.effect; // "pure", "idempotent", "once" or "ask": see tool.Effect
    setMark(this, "baseTool");
  }
  _getDeclaration() {
    return undefined;
  }
  /** A subclass may use either of the two forms. */
  async runAsync({ args, toolContext }) {
    if (typeof this.execute === "function") return this.execute(args, toolContext);
    throw new Error(`The tool "${this.name}" must implement runAsync`);
  }
  /** For subclasses that change requests. The declaration is in it anyway. */
  async processLlmRequest() {}
}

/** What Go has to know of a tool, and the function or agent that it runs. */
export function describeTool(tool) {
  if (tool.builtIn) return { name: tool.name, builtIn: true };
  const given = tool.getDeclaration?.() ?? tool._getDeclaration?.();
  const name = tool.name ?? given?.name;
  const description = tool.description || given?.description || "";
  const parameters = given?.parametersJsonSchema ?? fromGenai(given?.parameters) ?? toParameters(tool.parameters, name);
  if (isAgentTool(tool)) {
    const { agent, skipSummarization, outputKey, wholeArguments } = tool;
    return { name, description, parameters, agent, skipSummarization, outputKey, wholeArguments, asksFirst: Boolean(tool.requireConfirmation) };
  }
  const check = (result) => refuseGenerator(name, result);
  return {
    name,
    description,
    declared: given !== undefined,
    parameters: parameters ?? emptyObject(),
    longRunning: Boolean(tool.isLongRunning),
    effect: tool.effect,
    needsLogin: Boolean(tool.needsLogin),
    authConfig: tool.authConfig,
    asksFirst: tool.requireConfirmation === true,
    builtIn: tool === requestInputTool,
    namesErrors: tool.runAsync === FunctionTool.prototype.runAsync,
    run: (args, toolContext, call) => {
      call.check = check;
      return tool.runAsync === FunctionTool.prototype.runAsync ? tool[RUN](args, toolContext) : runOther(tool, args, toolContext);
    },
  };
}

function runOther(tool, args, toolContext) {
  return confirmed(tool, args, toolContext, () => (tool.runAsync ? tool.runAsync({ args, toolContext }) : tool.execute(args, toolContext)));
}

// A generator would be an empty object in JSON, and its code would never run.
function refuseGenerator(name, result) {
  const tag = result?.[Symbol.toStringTag];
  if (tag !== "Generator" && tag !== "AsyncGenerator") return;
  throw new Error(`The tool "${name}" returned a generator, which is not supported by this version: return a list of what it yields`);
}

/** Runs a tool, or asks the user first whether it may. What was approved comes
 * again, with toolConfirmation. */
function confirmed(tool, args, toolContext, run) {
  const need = tool.requireConfirmation;
  if (!need) return run();
  if (toolContext?.toolConfirmation) return toolContext.toolConfirmation.confirmed ? run() : { error: "This tool call is rejected." };
  const ask = () => {
    toolContext.requestConfirmation({ hint: `Please approve or reject the call of ${tool.name}.` });
    return { error: "This tool call requires confirmation, please approve or reject." };
  };
  if (typeof need !== "function") return ask();
  const answer = need(args, toolContext);
  if (typeof answer?.then === "function") return answer.then((yes) => (yes ? ask() : run()));
  return answer ? ask() : run();
}

/** A lazy member, unless it is set. */
function late(tool, member, get) {
  const set = (value) => Object.defineProperty(tool, member, { value, writable: true });
  Object.defineProperty(tool, member, { get, set, enumerable: true, configurable: true });
}

export class FunctionTool extends BaseTool {
  constructor(...args) {
    const o = typeof args[0] === "function" ? { ...optionsOf([args[1]]), execute: args[0] } : optionsOf(args);
    const fn = o.execute ?? o.fn ?? o.func;
    if (typeof fn !== "function") throw new Error("A FunctionTool needs a function: give it as execute");
    const declared = o.functionDeclaration;
    const name = o.name ?? declared?.name;
    if (!(name ?? fn.name)) throw new Error("Tool name cannot be empty. Either name the function or provide a name in the FunctionTool options.");
    super({ name, description: o.description ?? declared?.description, isLongRunning: o.isLongRunning, effect: o.effect });
    this.parameters = o.parameters;
    this.func = this.fn = fn;
    this.requireConfirmation = o.requireConfirmation;
    // With parameters, or by its own name for the function, the tool is written
    // for @google/adk and takes its arguments as one object.
    const plain = !o.parameters && (o.execute === undefined || typeof args[0] === "function" || this[STYLE] === "positional");
    const bound = plain || (declared && !o.parameters) ? bind(fn, declared?.parameters ?? declared?.parametersJsonSchema) : undefined;
    hide(this, { bound, authConfig: o.authConfig });
    // What a function is called, if the bundler has changed that, and the
    // comment above it are known when its module has run.
    if (name === undefined) late(this, "name", () => fn.name);
    if (!this.description && bound) late(this, "description", () => bound.description ?? "");
    setMark(this, "functionTool");
  }
  get [STYLE]() {
    return "object";
  }
  _getDeclaration() {
    const schema = this.bound ? this.bound.schema : (toParameters(this.parameters, this.name) ?? emptyObject());
    return { name: this.name, description: this.description, parametersJsonSchema: schema };
  }
  async runAsync({ args, toolContext }) {
    return this[RUN](args, toolContext);
  }
  /** runAsync, but without a promise where none is needed, and with few calls, each of
   * which costs a little (BenchmarkTurn). */
  [RUN](args, toolContext) {
    if (this.authConfig && !logIn(this.authConfig, toolContext)) return { pending: true, message: "Needs your authorization to access your data." };
    if (this.bound) return work(this, args, toolContext);
    let data = INVALID;
    try {
      data = parse(this.parameters, args);
    } catch {} // it throws again
    if (data === INVALID) return runChecked(this, args, toolContext);
    return this.requireConfirmation ? work(this, data, toolContext) : this.fn(data, toolContext);
  }
}

/** [RUN] where zod itself has to look at the arguments, or nothing has to. */
function runChecked(tool, args, toolContext) {
  if (!isZod(tool.parameters)) return work(tool, args, toolContext);
  let result;
  try {
    result = tool.parameters.safeParse(args);
  } catch {
    // A schema with asynchronous checks says so by throwing.
    return tool.parameters.safeParseAsync(args).then((r) => work(tool, parsed(tool, r), toolContext));
  }
  return work(tool, parsed(tool, result), toolContext);
}

// Without a function for what comes after the confirmation, unless there is one:
// making a function is a good part of the cost of a call.
function work(tool, args, toolContext) {
  if (!tool.requireConfirmation) return execute(tool, args, toolContext);
  return confirmed(tool, args, toolContext, () => execute(tool, args, toolContext));
}

const execute = (tool, args, toolContext) => (tool.bound ? tool.bound.call(args, toolContext) : tool.fn(args, toolContext));

/** Gives the context its credential, or asks the user for one. */
function logIn(authConfig, toolContext) {
  const credential = toolContext.getAuthResponse(authConfig);
  if (credential) hide(toolContext, { credential });
  else toolContext.requestCredential(authConfig);
  return credential !== undefined;
}

function parsed(tool, result) {
  if (result.success) return result.data;
  const issues = (result.error.issues ?? []).map((i) => `${i.path?.join(".") || "arguments"}: ${i.message}`);
  throw new InvalidArguments(tool.name, `invalid arguments: ${issues.join("; ") || result.error.message}`);
}

/** A function that is called when the user has logged in. */
export class AuthenticatedFunctionTool extends FunctionTool {
  constructor(...args) {
    super(...args);
    if (!this.authConfig) throw new Error(`The tool "${this.name}" needs an authConfig, or else to be a FunctionTool`);
  }
}

export class LongRunningFunctionTool extends FunctionTool {
  constructor(...args) {
    super(...args);
    this.isLongRunning = true;
    const note = "NOTE: This is a long-running operation. Do not call this tool again if it has already returned some intermediate or pending status.";
    const own = Object.getOwnPropertyDescriptor(this, "description");
    const text = () => (own.get ? own.get() : own.value);
    late(this, "description", () => (text() ? `${text()}\n\n${note}` : note));
  }
}

export class AgentTool extends BaseTool {
  constructor(...args) {
    const o = optionsOf(args);
    const agent = o.agent ?? args[0];
    if (!hasMark(agent, "baseAgent")) throw new Error("An AgentTool needs an agent: new AgentTool({agent})");
    super({ name: o.name ?? agent.name, description: o.description ?? agent.description });
    this.agent = agent;
    this.requireConfirmation = o.requireConfirmation;
    if (typeof o.requireConfirmation === "function") throw new Error(`requireConfirmation of the AgentTool "${this.name}" must be true or false`);
    this.skipSummarization = o.skipSummarization ?? false;
    this.functionDeclaration = o.functionDeclaration;
    this.outputKey = o.outputKey;
    setMark(this, "agentTool");
  }
  _getDeclaration() {
    return this.functionDeclaration;
  }
}

export class BaseToolset {
  constructor(toolFilter, prefix) {
    this.toolFilter = toolFilter;
    this.prefix = prefix;
    setMark(this, "baseToolset");
  }
  async getTools() {
    return [];
  }
  async close() {}
  /** For subclasses that change requests. */
  async processLlmRequest() {}
  isToolSelected(tool, context) {
    if (typeof this.toolFilter === "function") return this.toolFilter(tool, context);
    return !this.toolFilter || this.toolFilter.length === 0 || this.toolFilter.includes(tool.name);
  }
}

export const EXIT_LOOP = new FunctionTool({
  name: "exit_loop",
  description: "Exits the loop.\n\nCall this function only when you are instructed to do so.",
  effect: "pure",
  execute: (_, toolContext) => {
    toolContext.actions.escalate = true;
    toolContext.actions.skipSummarization = true;
    return "";
  },
});

export class ExitLoopTool extends FunctionTool {
  constructor() {
    super({ name: EXIT_LOOP.name, description: EXIT_LOOP.description, effect: EXIT_LOOP.effect, execute: EXIT_LOOP.fn });
  }
}

// Tools that Go has. An author's class may still change what they do.
class BuiltInTool extends BaseTool {
  get builtIn() {
    return this.runAsync === BuiltInTool.prototype.runAsync && this.processLlmRequest === BaseTool.prototype.processLlmRequest;
  }
  async runAsync({ args, toolContext }) {
    return this.name === "load_memory" ? toolContext.searchMemory(args.query) : args;
  }
}

export class LoadMemoryTool extends BuiltInTool {
  constructor() {
    super({ name: "load_memory", description: "Searches what was said in earlier conversations with the user.", effect: "pure" });
  }
  _getDeclaration() {
    return { name: this.name, description: this.description, parametersJsonSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] } };
  }
}

export class PreloadMemoryTool extends BuiltInTool {
  constructor() {
    super({ name: "preload_memory", description: "Tells the model what earlier conversations have to do with the message." });
  }
}

export class LoadArtifactsTool extends BuiltInTool {
  constructor() {
    super({ name: "load_artifacts", description: "Loads the artifacts and adds them to the conversation.", effect: "pure" });
  }
}

export const LOAD_MEMORY = new LoadMemoryTool();
export const PRELOAD_MEMORY = new PreloadMemoryTool();
export const LOAD_ARTIFACTS = new LoadArtifactsTool();

/** For tools of an author that transfer to another agent. */
export function transferToAgent(agentName, toolContext) {
  toolContext.actions.transferToAgent = agentName;
}

export const getUserChoiceTool = new LongRunningFunctionTool({
  name: "get_user_choice",
  description: "Provides the options to the user and asks them to choose one.",
  effect: "pure",
  parameters: { type: "object", properties: { options: { type: "array", items: { type: "string" } } }, required: ["options"] },
  execute: (_, toolContext) => {
    toolContext.actions.skipSummarization = true;
    return undefined;
  },
});

/** With which a model asks the user for something. Go has it, with the check of
 * the answer. */
export const requestInputTool = new LongRunningFunctionTool({
  name: "adk_request_input",
  description: "Asks the user for something that is not known, and waits for the answer.",
  effect: "pure",
  parameters: { type: "object", properties: { message: { type: "string" }, responseSchema: { type: "object" } }, required: ["message"] },
  execute: () => undefined,
});

export const isBaseTool = (v) => hasMark(v, "baseTool");
export const isFunctionTool = (v) => hasMark(v, "functionTool");
export const isAgentTool = (v) => hasMark(v, "agentTool");
export const isBaseToolset = (v) => hasMark(v, "baseToolset") || (v && typeof v === "object" && typeof v.getTools === "function");
