// The classes of models that Go talks to, and one that picks among others.
import { BaseLlm, HostedLlm, LLMRegistry, isBaseLlm } from "./models.js";
import { camelOptions } from "./names.js";

// What Go takes beside the name of a model, see modelSettings in models.go; and
// what other packages call it.
const known = ["apiKey", "baseUrl", "headers", "maxTokens", "maxRetries", "timeout"];
const otherNames = { apiBase: "baseUrl", baseURL: "baseUrl", extraHeaders: "headers", numRetries: "maxRetries" };

function settingsOf(cls, given) {
  const out = {};
  for (const [key, value] of Object.entries(camelOptions(given))) {
    const name = otherNames[key] ?? key;
    if (known.includes(name)) out[name] = value;
    else if (key !== "model") console.warn(`${cls}: the option ${key} has no effect in this version`);
  }
  return out;
}

/** A model called as (options) or as (name, options). */
const initOf = (cls, init, more, standard) => {
  const options = typeof init === "string" ? { ...more, model: init } : { ...init };
  return { model: options.model ?? standard, ...settingsOf(cls, options) };
};

/** Any model by the name that the registry knows it under, such as
 * "openai/gpt-5", wherever it is. */
export class LiteLlm extends HostedLlm {
  constructor(init, more) {
    const options = initOf("LiteLlm", init, more);
    if (!options.model) throw new Error("A LiteLlm needs the name of a model, such as 'openai/gpt-5'");
    // Its time-outs are in seconds.
    if (options.timeout !== undefined) options.timeout *= 1000;
    super(options);
  }
}

export class AnthropicLlm extends HostedLlm {
  constructor(init = {}, more = {}) {
    super(initOf("AnthropicLlm", init, more, "claude-sonnet-4-5"));
  }
  static supportedModels = [/claude-.*/];
}

/** Several models, of which a router picks one for each request. When that one
 * fails before it has said anything, the router is asked again. */
export class RoutedLlm extends BaseLlm {
  constructor({ models, router, modelName } = {}) {
    const all = Array.isArray(models) ? models.map((m) => [typeof m === "string" ? m : m.model, m]) : Object.entries(models ?? {});
    const made = Object.fromEntries(all.map(([key, m]) => [key, typeof m === "string" ? LLMRegistry.newLlm(m) : m]));
    if (all.length === 0 || typeof router !== "function") throw new Error("A RoutedLlm needs models and a router");
    for (const [key, m] of Object.entries(made)) if (!isBaseLlm(m)) throw new Error(`The model "${key}" of a RoutedLlm is not a model`);
    super({ model: modelName ?? `RoutedLlm[${Object.entries(made).map(([key, m]) => `${key} (${m.model})`).join(", ")}]` });
    this.models = made;
    this.router = router;
  }
  async *generateContentAsync(request, stream = false, abortSignal) {
    let key = await this.router(this.models, request);
    if (!key) throw new Error("Initial routing failed: the router picked no model");
    const failedKeys = new Set();
    for (;;) {
      const model = this.models[key];
      if (!model) throw new Error(`The router picked the model "${key}", which is not one of ${Object.keys(this.models).join(", ")}`);
      failedKeys.add(key);
      let failed; // how, and what to do if there is no other model
      let heard = false;
      try {
        for await (const response of model.generateContentAsync(request, stream, abortSignal)) {
          if (!heard && response.errorCode && !response.content) {
            failed = { error: Object.assign(new Error(response.errorMessage ?? response.errorCode), { code: response.errorCode }), response };
            break;
          }
          heard = true;
          yield response;
        }
        if (!failed) return;
      } catch (error) {
        if (heard || abortSignal?.aborted) throw error;
        failed = { error };
      }
      const next = await this.router(this.models, request, { failedKeys, lastError: failed.error });
      if (!next || failedKeys.has(next)) {
        if (!failed.response) throw failed.error;
        yield failed.response;
        return;
      }
      key = next;
    }
  }
}
