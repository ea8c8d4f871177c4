import { currentCall, requestStream } from "../guest.js";
import { STYLE, setMark } from "./names.js";
import { ORIGIN, receivedResponse, sendable } from "./requests.js";

export class BaseLlm {
  constructor(init) {
    this.model = typeof init === "string" ? init : init?.model;
    setMark(this, "baseModel");
  }
  // biome-ignore lint/correctness/useYield: it only refuses
  async *generateContentAsync() {
    throw new Error(`${this.constructor.name} must implement generateContentAsync`);
  }
  async connect() {
    throw new Error("Live connections are not supported by this runtime: use /run_sse with streaming");
  }
}

export const isBaseLlm = (value) => value instanceof BaseLlm || typeof value?.generateContentAsync === "function";

/** A model that Go talks to. It can be an agent's model, and can be called. */
export class HostedLlm extends BaseLlm {
  constructor(init) {
    super(init);
    const { model, ...options } = typeof init === "object" ? init : {};
    this.options = options;
  }
  async *generateContentAsync(request, stream = false, abortSignal) {
    const origin = request[ORIGIN];
    // A model that wraps this one hands on its own request, with its own name.
    const model = request.model && request.model !== origin?.model ? request.model : this.model;
    const params = { model, options: this.options, request: sendable(request), stream: Boolean(stream) };
    for await (const response of requestStream("generate", params, origin?.call ?? currentCall(), abortSignal)) yield receivedResponse(response);
  }
}

export class Gemini extends HostedLlm {
  constructor(init = {}) {
    super(typeof init === "string" ? { model: init } : { model: "gemini-2.5-flash", ...init });
  }
  static supportedModels = [/gemini-.*/, /projects\/.+\/locations\/.+\/endpoints\/.+/, /projects\/.+\/locations\/.+\/publishers\/google\/models\/gemini.+/];
}

const registered = [];

const create = (cls, model) => new cls(cls.prototype[STYLE] === "positional" ? model : { model });

/** Which class serves a model name. The first that matches does. */
export class LLMRegistry {
  static register(cls) {
    const patterns = typeof cls.supportedModels === "function" ? cls.supportedModels() : cls.supportedModels;
    for (const pattern of patterns ?? []) registered.push({ pattern: new RegExp(`^(?:${pattern.source ?? pattern})$`, pattern.flags?.replace(/[gy]/g, "")), cls });
  }
  static resolve(name) {
    const own = registered.find(({ pattern }) => pattern.test(name))?.cls;
    return own ?? (Gemini.supportedModels.some((pattern) => pattern.test(name)) ? Gemini : HostedLlm);
  }
  static newLlm(name) {
    return create(LLMRegistry.resolve(name), name);
  }
}
