// Requests of the Gemini API over fetch, with the key and the address of a client.
import { ApiError } from "./response.js";

const env = (name) => process.env[name]?.trim() || undefined;

/** Whether the options, or else the environment, ask for Vertex AI. */
export const usesVertex = (options) =>
  options.enterprise ?? options.vertexai ?? /^true$/i.test(env("GOOGLE_GENAI_USE_ENTERPRISE") ?? env("GOOGLE_GENAI_USE_VERTEXAI") ?? "");

const keyOf = (options) => options.apiKey ?? env("GOOGLE_GENAI_API_KEY") ?? env("GOOGLE_API_KEY") ?? env("GEMINI_API_KEY");

/** HTTP options of which the second ones go before the first ones. */
const merge = (a, b = {}) => ({ ...a, ...Object.fromEntries(Object.entries(b).filter(([, v]) => v !== undefined)), headers: { ...a.headers, ...b.headers } });

const isPlain = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function deepMerge(to, from) {
  const out = { ...to };
  for (const [key, value] of Object.entries(from)) out[key] = isPlain(value) && isPlain(out[key]) ? deepMerge(out[key], value) : value;
  return out;
}

const headersOf = (response) => Object.fromEntries(response.headers);

async function check(response) {
  if (response.ok) return response;
  const isJSON = response.headers.get("content-type")?.includes("application/json");
  const body = isJSON ? await response.json() : { error: { message: await response.text(), code: response.status, status: response.statusText } };
  const message = JSON.stringify(body);
  throw response.status >= 400 ? new ApiError({ message, status: response.status }) : new Error(message);
}

export class Connection {
  #options;
  #key;

  constructor(options, vertex) {
    this.vertex = vertex;
    this.#key = keyOf(options);
    const http = options.httpOptions ?? {};
    const baseUrl =
      http.baseUrl || (vertex ? env("GOOGLE_VERTEX_BASE_URL") ?? "https://aiplatform.googleapis.com/" : env("GOOGLE_GEMINI_BASE_URL") ?? "https://generativelanguage.googleapis.com/");
    const apiVersion = options.apiVersion ?? (vertex ? "v1beta1" : "v1beta");
    this.#options = merge({ apiVersion, headers: { "Content-Type": "application/json" } }, { ...http, baseUrl });
  }

  get baseUrl() {
    return this.#options.baseUrl;
  }

  get key() {
    return this.#key;
  }

  /** The response to a request, which is an ApiError if its status says so. */
  async send(method, path, { body, http, signal } = {}) {
    if (!this.#key) throw new Error("GoogleGenAI needs an API key: set GOOGLE_GENAI_API_KEY, GOOGLE_API_KEY or GEMINI_API_KEY, or give it apiKey");
    const options = merge(this.#options, http);
    const url = [options.baseUrl.replace(/\/$/, ""), options.apiVersion, path].filter(Boolean).join("/");
    const headers = new Headers(options.headers);
    if (options.timeout > 0) headers.set("X-Server-Timeout", String(Math.ceil(options.timeout / 1000)));
    if (!headers.has("x-goog-api-key")) headers.set("x-goog-api-key", this.#key);
    const content = isPlain(body) && !(body instanceof Blob) ? JSON.stringify(options.extraBody ? deepMerge(body, options.extraBody) : body) : body;
    const attempt = async () => {
      const request = options.fetch ?? fetch;
      return check(await request(url, { method, headers, body: content, signal: limited(signal, options.timeout) }));
    };
    return options.retryOptions ? retry(attempt, options.retryOptions, signal) : attempt();
  }

  /** The JSON of a response, with its headers. */
  async call(method, path, request) {
    const response = await this.send(method, path, request);
    return { ...(await response.json()), sdkHttpResponse: { headers: headersOf(response) } };
  }

  /** The events of a response, each as JSON. */
  async stream(path, request) {
    const response = await this.send("POST", `${path}?alt=sse`, request);
    return events(response);
  }
}

/** A signal that ends with the one that is given, and after the time. */
function limited(signal, timeout) {
  const signals = [signal, timeout > 0 ? AbortSignal.timeout(timeout) : undefined].filter(Boolean);
  return signals.length > 1 ? AbortSignal.any(signals) : signals[0];
}

async function retry(attempt, options, signal) {
  const { attempts = 5, initialDelay = 1, maxDelay = 60, expBase = 2, jitter = 1, httpStatusCodes = [408, 429, 500, 502, 503, 504] } = options;
  for (let i = 1; ; i++) {
    try {
      return await attempt();
    } catch (error) {
      const again = error instanceof ApiError ? httpStatusCodes.includes(error.status) : error instanceof TypeError;
      if (!again || i >= attempts || signal?.aborted) throw error;
    }
    const delay = Math.min(maxDelay, initialDelay * expBase ** (i - 1)) * (jitter > 0 ? 1 + Math.random() : 1);
    await new Promise((resolve) => setTimeout(resolve, delay * 1000));
  }
}

// An error can also come as an event, or as the text of the response.
function checkEvent(text) {
  let event;
  try {
    event = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { code, status } = event?.error ?? {};
  if (code >= 400 && code < 600) throw new ApiError({ message: `got status: ${status}. ${JSON.stringify(event)}`, status: code });
  return event;
}

async function* events(response) {
  const headers = headersOf(response);
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body ?? []) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split(/\r\n\r\n|\n\n|\r\r/);
    rest = parts.pop();
    for (const part of parts) {
      const text = /^\s*data:(.*)$/s.exec(part)?.[1];
      if (text === undefined) continue;
      const event = checkEvent(text);
      if (event === undefined) throw new Error(`an event of the stream is not JSON: ${text.trim()}`);
      yield { ...event, sdkHttpResponse: { headers } };
    }
  }
  checkEvent(rest);
  if (rest.trim() !== "") throw new Error("the stream ended within an event");
}
