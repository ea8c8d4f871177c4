// The tools of MCP servers. Go talks to them; see mcp.go.
import { currentCall, expose } from "../guest.js";
import { Context } from "./context.js";
import { dataClasses } from "./auth.js";
import { camelOptions, hide } from "./names.js";
import { HostedTool, HostedToolset, OpenAPIToolset, ask } from "./toolsets.js";

const typed = (type) =>
  ({
    [type]: class {
      constructor(init) {
        Object.assign(this, { type, ...init });
      }
    },
  })[type];

/** How to connect, as classes; objects with the same members will do. */
export const StdioConnectionParams = typed("StdioConnectionParams");
export const StreamableHTTPConnectionParams = typed("StreamableHTTPConnectionParams");
export const SseConnectionParams = typed("SseConnectionParams");
export const SseServerParams = typed("SseServerParams");
export const { StdioServerParameters } = dataClasses("StdioServerParameters");

/** A tool of an MCP server. */
export class MCPTool extends HostedTool {
  constructor(...args) {
    if (args[0] !== "mcp") throw new Error("An MCPTool comes from an MCPToolset: list the toolset in the tools of an agent");
    super(...args);
  }
}

// In configs, the name of the member says what kind of connection it is.
const members = {
  connectionParams: undefined,
  stdioServerParams: "StdioConnectionParams",
  stdioConnectionParams: "StdioConnectionParams",
  streamableHttpConnectionParams: "StreamableHTTPConnectionParams",
  sseConnectionParams: "SseConnectionParams",
};

/** The options, in the form of either package. */
function given(params, toolFilter, prefix) {
  const o = camelOptions(params);
  const member = Object.keys(members).find((name) => o[name] !== undefined);
  if (!member) return { connection: o, toolFilter, prefix };
  const connection = camelOptions(o[member]);
  // Where a mere address is enough, it is that of the older HTTP.
  const type = connection.type ?? members[member] ?? (connection.url ? "SseServerParams" : undefined);
  return { connection: { ...connection, type }, toolFilter: o.toolFilter ?? toolFilter, prefix: o.prefix ?? o.toolNamePrefix ?? prefix };
}

const texts = (values) => values && Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value === undefined || value === null ? [] : [[name, String(value)]])));

// Headers may be an object of the web, or a list.
const headersOf = (headers) => headers && texts(Object.fromEntries(typeof headers.entries === "function" && !Array.isArray(headers) ? headers.entries() : Array.isArray(headers) ? headers : Object.entries(headers)));

/** The connection as Go reads it. */
function connectionOf(c) {
  const { type, url, timeout } = c;
  const server = c.serverParams || c.command ? camelOptions(c.serverParams ?? c) : undefined;
  const headers = { ...headersOf(c.header), ...headersOf(c.headers), ...headersOf(c.transportOptions?.requestInit?.headers) };
  const out = { type, url: url && String(url), timeout, sseReadTimeout: c.sseReadTimeout };
  if (Object.keys(headers).length > 0) out.headers = headers;
  if (server) out.serverParams = { command: server.command, args: server.args, cwd: server.cwd, env: texts(server.env) };
  return out;
}

/** The tools that an MCP server offers: in the list of an agent's tools, asked for
 * before every model call. */
export class MCPToolset extends HostedToolset {
  constructor(params, toolFilter, prefix) {
    const o = given(params, toolFilter, prefix);
    const config = { connection: connectionOf(o.connection), prefix: o.prefix || undefined };
    if (Array.isArray(o.toolFilter) && o.toolFilter.length > 0) {
      config.names = o.toolFilter.map((name) => (o.prefix && name.startsWith(`${o.prefix}_`) ? name.slice(o.prefix.length + 1) : name));
    }
    super("mcp", config, o.toolFilter, o.prefix);
  }
  get toolClass() {
    return MCPTool;
  }
  /** An older way to get the tools at once. */
  static async fromServer(options) {
    const set = new this(options);
    return { tools: await set.getTools(), exitStack: { close: async () => {}, aclose: async () => {} } };
  }
  /** The names of what the server has to read. */
  async listResources() {
    return ask("resources", { config: this.config }, currentCall());
  }
  /** The contents of a resource, by its name or its URI. */
  async readResource(name) {
    return ask("resources", { config: this.config, name: String(name) }, currentCall());
  }
}

/** Whether Go asks for the tools itself before every model call: there is no
 * author's code around the toolset, and the answer may be another one each time,
 * because of the server or of the one for whom a function chooses. */
export const isLive = (set) =>
  (set instanceof MCPToolset || (set instanceof OpenAPIToolset && typeof set.toolFilter === "function")) && set.getTools === HostedToolset.prototype.getTools;

/** What Go has to know of a toolset that it asks itself. */
export function describeSet(set, agent) {
  const { kind, config } = set;
  if (typeof set.toolFilter !== "function") return { kind, config };
  const filter = expose(async ({ tools }, call) => {
    const context = new Context(call, agent, true);
    const chosen = [];
    for (const declared of tools) {
      const tool = set.getTool(declared.name);
      tool.take("", declared);
      hide(tool, { bound: undefined });
      if (await set.isToolSelected(tool, context)) chosen.push(declared.name);
    }
    return chosen;
  }, agent);
  return { kind, config, filter };
}
