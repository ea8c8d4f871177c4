// What is said to models and by them, as authors know it and as Go reads it.
import { list } from "./names.js";
import { fromGenai, toGenai, toSchema } from "./schema.js";

// Where a request came from: the call on whose behalf, and the name of the model
// that it was first meant for. It survives a copy with {...request}.
export const ORIGIN = Symbol("origin");

/** A request, as callbacks and custom models see it. */
export class LlmRequest {
  constructor(init = {}) {
    Object.assign(this, { contents: [], config: {}, toolsDict: {}, liveConnectConfig: {}, ...init });
  }
}

export function appendInstructions(request, texts) {
  request.config ??= {};
  request.config.systemInstruction = [request.config.systemInstruction, ...list(texts)].filter(Boolean).join("\n\n");
}

Object.defineProperty(LlmRequest.prototype, "appendInstructions", {
  value(texts) {
    appendInstructions(this, texts);
  },
});

/** A request that Go is about to make. */
export function receivedRequest(json, model, call, tools = []) {
  const declarations = (json.config.tools ?? []).flatMap((t) => t.functionDeclarations ?? []);
  for (const d of declarations) {
    // Few look at it, and it would double every request.
    Object.defineProperty(d, "parameters", { get: () => toGenai(d.parametersJsonSchema), enumerable: false });
  }
  // Of the tools of a server, only their declarations are here.
  const toolsDict = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  for (const d of declarations) toolsDict[d.name] ??= d;
  return new LlmRequest({ model, contents: json.contents, config: json.config, toolsDict, [ORIGIN]: { model, call } });
}

const toContent = (value) => (value?.parts ? value : { role: "user", parts: list(value).map((p) => (typeof p === "string" ? { text: p } : p)) });

/** The functions of a group, and every other tool of it by itself: these are run
 * by the provider. */
function sendableTools(group) {
  const { functionDeclarations, ...others } = group;
  const provided = Object.entries(others).filter(([, value]) => value !== undefined && value !== null);
  return [
    {
      functionDeclarations: list(functionDeclarations).map((d) => ({
        name: d.name,
        description: d.description ?? "",
        parametersJsonSchema: d.parametersJsonSchema ?? fromGenai(d.parameters),
      })),
    },
    ...provided.map(([name, value]) => ({ [name]: value })),
  ];
}

/** A request as Go reads it. */
export function sendable({ contents, config }) {
  const { tools, systemInstruction, responseSchema, responseJsonSchema, ...rest } = config ?? {};
  return {
    contents: list(contents).map(toContent),
    config: {
      ...rest,
      tools: list(tools).flatMap(sendableTools),
      systemInstruction: systemInstruction && typeof systemInstruction !== "string" ? toContent(systemInstruction) : systemInstruction,
      responseJsonSchema: responseJsonSchema ?? toSchema(responseSchema),
    },
  };
}

export class LlmResponse {
  constructor(init = {}) {
    Object.assign(this, init);
  }
  static create(init) {
    return new LlmResponse(init);
  }
}

/** A response that came from Go, which sends it in the shape of an event. */
export function receivedResponse({ id, invocationId, author, timestamp, actions, longRunningToolIds, ...rest }) {
  return new LlmResponse(rest);
}
