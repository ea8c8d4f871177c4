// Tools that are implemented in Go. JavaScript has only their configuration: Go makes
// a set of tools of it, and returns what is in it; see adk/toolsets.go.
//
// Toolsets of another kind are a class like OpenAPIToolset, which puts together
// what Go has to know, and a case in toolsets.go.
import { currentCall, expose, requestStream } from "../guest.js";
import { Context } from "./context.js";
import { camelOptions, hasMark, hide, setMark } from "./names.js";
import { BaseTool, BaseToolset } from "./tools.js";

/** The answer of Go to a request. */
export async function ask(op, params, call) {
  for await (const answer of requestStream(op, params, call)) return answer;
  return undefined;
}

const sets = new Map(); // the answers of Go, by configuration

function openSet(kind, config) {
  const key = JSON.stringify([kind, config]);
  if (!sets.has(key)) {
    const asked = ask("toolset", { kind, config }, currentCall());
    sets.set(key, asked);
    asked.catch(() => sets.delete(key)); // it may work another time
  }
  return sets.get(key);
}

const snake = (name) => name.replace(/(?<=[a-z0-9])([A-Z])/g, "_$1").toLowerCase();

/** A tool of a set that Go has. */
export class HostedTool extends BaseTool {
  /** The tool of a name in a set, which is looked up when it is needed; without
   * a name, the only one. */
  constructor(kind, config, name) {
    super({ name });
    hide(this, { kind, config, wanted: name, bound: undefined });
    setMark(this, "hostedTool");
  }
  /** Finds the tool. What the author has said about it stays. */
  async bind() {
    if (this.bound) return this.bound;
    const { id, tools } = await openSet(this.kind, this.config);
    const found = this.wanted === undefined ? tools[0] : (tools.find((t) => t.name === this.wanted) ?? tools.find((t) => t.name === snake(this.wanted)));
    if (!found) throw new Error(`There is no tool "${this.wanted}". The tools are: ${tools.map((t) => t.name).join(", ")}.`);
    return this.take(id, found);
  }
  take(set, { name, description, parameters, longRunning, effect, needsLogin }) {
    if (this.name === undefined || this.name === this.wanted) this.name = name;
    this.description ||= description;
    this.isLongRunning = Boolean(longRunning);
    this.effect = effect;
    hide(this, { parameters, needsLogin });
    return (this.bound = { set, tool: name });
  }
  _getDeclaration() {
    return this.bound && { name: this.name, description: this.description, parametersJsonSchema: this.parameters };
  }
  async runAsync({ args, toolContext }) {
    const result = await ask("callTool", { ...(await this.bind()), args: args ?? {} }, toolContext?.call ?? currentCall());
    toolContext?.refresh?.();
    return result;
  }
}

/** Whether Go can call the tool itself, because no author's code is around it. */
export const isHosted = (tool) => hasMark(tool, "hostedTool") && tool.runAsync === HostedTool.prototype.runAsync;

/** A set that Go has. */
export class HostedToolset extends BaseToolset {
  constructor(kind, config, toolFilter, prefix) {
    super(toolFilter, prefix);
    hide(this, { kind, config });
  }
  /** The class of its tools. */
  get toolClass() {
    return HostedTool;
  }
  getTool(name) {
    return new this.toolClass(this.kind, this.config, name);
  }
  async getTools(context) {
    const { id, tools } = await openSet(this.kind, this.config);
    const all = tools.map((declared) => {
      const tool = this.getTool(declared.name);
      tool.take(id, declared);
      return tool;
    });
    // Names were sorted out by Go, which knows them without the prefix.
    return typeof this.toolFilter === "function" ? all.filter((tool) => this.isToolSelected(tool, context)) : all;
  }
}

// The configuration of an API, as Go reads it.
function apiConfig(o) {
  const { prefix, preservePropertyNames, baseUrl, authScheme, authCredential, credentialKey, headerProvider } = o;
  const config = { prefix, preserveNames: preservePropertyNames, baseUrl, scheme: authScheme, credential: authCredential, credentialKey };
  if (headerProvider !== undefined) {
    if (typeof headerProvider !== "function") throw new Error("headerProvider must be a function");
    config.headers = expose(async (_, call) => {
      const headers = (await headerProvider(new Context(call, undefined, true))) ?? {};
      return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    });
  }
  for (const name of ["sslVerify", "fetchFn"]) {
    if (o[name] !== undefined) console.warn(`${name} of an OpenAPIToolset or a RestApiTool has no effect here: the server makes the calls`);
  }
  return config;
}

/** An operation of an API as a tool: of a toolset, or made by hand. */
export class RestApiTool extends HostedTool {
  constructor(...args) {
    if (args[0] === "openapi") {
      super(...args);
      return;
    }
    const [name, description, endpoint, operation, authScheme, authCredential, options] = args;
    const o = typeof name === "string" ? { name, description, endpoint, operation, authScheme, authCredential, ...camelOptions(options) } : camelOptions(name);
    if (!o.name) throw new Error("A RestApiTool needs a name");
    super("openapi", { ...apiConfig({ ...o, prefix: undefined }), spec: documentOf(o) });
    this.name = o.name;
    this.description = o.description ?? "";
  }
  static fromParsedOperation(parsed, options) {
    return createRestApiTool(parsed, options);
  }
  configureAuthScheme(scheme) {
    this.#change({ scheme });
  }
  configureAuthCredential(credential) {
    this.#change({ credential });
  }
  configureCredentialKey(credentialKey) {
    this.#change({ credentialKey });
  }
  // It becomes a tool of a set of its own.
  #change(what) {
    const { prefix } = this.config;
    const name = this.bound?.tool;
    const names = name === undefined ? this.config.names : [prefix && name.startsWith(`${prefix}_`) ? name.slice(prefix.length + 1) : name];
    hide(this, { config: { ...this.config, ...what, names }, bound: undefined });
  }
}

/** A document with one operation. */
function documentOf({ name, description, endpoint, operation, authScheme }) {
  const parsed = (value) => (typeof value === "string" ? JSON.parse(value) : value);
  const { baseUrl, path, method } = camelOptions(parsed(endpoint));
  if (!baseUrl || !path || !method) throw new Error(`The RestApiTool "${name}" needs an endpoint with baseUrl, path and method`);
  const { security, responses, ...rest } = parsed(operation) ?? {};
  const own = { ...rest, operationId: name, responses: responses && Object.keys(responses).length > 0 ? responses : { default: { description: "" } } };
  if (description) own.description = description;
  // Schemes that it may name are in a document that is not here.
  if (!authScheme && Array.isArray(security) && security.length === 0) own.security = [];
  return { openapi: "3.0.3", info: { title: name, version: "1" }, servers: [{ url: baseUrl }], paths: { [path]: { [method.toLowerCase()]: own } } };
}

export const createRestApiTool = (parsed, options) => new RestApiTool({ ...parsed, ...options });

/** The operations of an OpenAPI document as tools. */
export class OpenAPIToolset extends HostedToolset {
  constructor(options) {
    const o = camelOptions(options);
    const sources = [o.specDict, o.specStr, o.specFile, o.specUrl].filter((source) => source !== undefined);
    if (sources.length !== 1) throw new Error("An OpenAPIToolset needs the document, as one of specDict, specStr, specFile and specUrl");
    const prefix = o.prefix || undefined;
    const config = { ...apiConfig({ ...o, prefix }), spec: o.specDict ?? o.specStr, file: o.specFile, url: o.specUrl };
    if (Array.isArray(o.toolFilter) && o.toolFilter.length > 0) {
      config.names = o.toolFilter.map((name) => (prefix && name.startsWith(`${prefix}_`) ? name.slice(prefix.length + 1) : name));
    }
    super("openapi", config, o.toolFilter, prefix);
  }
  get toolClass() {
    return RestApiTool;
  }
}
