import { currentCall, requestStream } from "../guest.js";
import { Body, encode, extract, fork, take } from "./body.js";
import { encodeUTF8, fromBase64 } from "./bytes.js";
import { Headers } from "./headers.js";
import { ReadableStream } from "../third_party/web-streams-polyfill/ponyfill.js";
import { URL } from "./url.js";

const usual = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
const inside = Symbol("what only this module says of a request or a response");

export class Request extends Body {
  constructor(input, init = {}) {
    const from = input instanceof Request ? input : null;
    const url = from ? from.url : addressOf(input);
    let method = String(init.method ?? from?.method ?? "GET");
    if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(method) || /^(connect|trace|track)$/i.test(method))
      throw new TypeError(`'${method}' is not a valid HTTP method.`);
    if (usual.includes(method.toUpperCase())) method = method.toUpperCase();
    const given = init.body !== undefined && init.body !== null;
    if (given && (method === "GET" || method === "HEAD"))
      throw new TypeError("Request with GET/HEAD method cannot have body.");
    const source = init[inside] ? init[inside].source : given ? extract(init.body) : from ? take(from) : null;
    super(source);
    this.url = url;
    this.method = method;
    this.headers = new Headers(init.headers ?? from?.headers);
    if (source?.type && !this.headers.has("content-type")) this.headers.set("content-type", source.type);
    this.redirect = choice("redirect", init.redirect ?? from?.redirect ?? "follow", ["follow", "error", "manual"]);
    this.signal = init.signal ?? from?.signal ?? new AbortController().signal;
    for (const [name, value] of Object.entries({
      mode: "cors",
      credentials: "same-origin",
      cache: "default",
      referrer: "about:client",
      referrerPolicy: "",
      integrity: "",
      keepalive: false,
      duplex: "half",
      destination: "",
    })) {
      this[name] = init[name] ?? from?.[name] ?? value;
    }
  }
  clone() {
    return new Request(this.url, { ...this, [inside]: { source: fork(this) } });
  }
}

function addressOf(input) {
  let url;
  try {
    url = new URL(String(input));
  } catch (cause) {
    throw new TypeError(`Failed to parse URL from ${input}`, { cause });
  }
  if (url.username || url.password)
    throw new TypeError(
      "Request cannot be constructed from a URL that includes credentials: send an Authorization header",
    );
  return url.href;
}

function choice(name, value, values) {
  if (!values.includes(value)) throw new TypeError(`"${value}" is not a value of ${name}: ${values.join(", ")}`);
  return value;
}

const nullBody = [101, 103, 204, 205, 304];

export class Response extends Body {
  constructor(body = null, init = {}) {
    const { status = 200, statusText = "", headers } = init;
    if (!init[inside] && !(status >= 200 && status <= 599))
      throw new RangeError("init.status must be in the range of 200 to 599, inclusive.");
    const source = init[inside] ? body : extract(body);
    if (source && nullBody.includes(status) && !init[inside])
      throw new TypeError(`Response with the status ${status} cannot have a body`);
    super(source);
    this.status = Number(status);
    this.statusText = String(statusText);
    this.headers = new Headers(headers);
    if (source?.type && !this.headers.has("content-type")) this.headers.set("content-type", source.type);
    this.url = init[inside]?.url ?? "";
    this.redirected = init[inside]?.redirected ?? false;
    this.type = init[inside]?.type ?? "default";
  }
  get ok() {
    return this.status >= 200 && this.status <= 299;
  }
  clone() {
    return new Response(fork(this), {
      ...this,
      [inside]: { url: this.url, redirected: this.redirected, type: this.type },
    });
  }
  static json(value, init = {}) {
    const text = JSON.stringify(value);
    if (text === undefined) throw new TypeError("The value cannot be written as JSON");
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(text, { ...init, headers });
  }
  static error() {
    return new Response(null, { status: 0, [inside]: { url: "", redirected: false, type: "error" } });
  }
  static redirect(url, status = 302) {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
    return new Response(null, { status, headers: { location: new URL(String(url)).href } });
  }
}

const failed = (cause) => new TypeError("fetch failed", { cause });

// Node.js has no limit for bodies, so code does not expect one in the cause.
const cut = (cause) =>
  new TypeError(
    cause?.code === "UND_ERR_RES_EXCEEDED_MAX_SIZE" ? `terminated: ${cause.message}` : "terminated",
    { cause },
  );

// A body that is never read would hold its connection until the engine ends.
const forgotten = new FinalizationRegistry((items) => void items.return());

export async function fetch(input, init) {
  const request = new Request(input, init);
  // The request ends with the signal that was given, and with the call of Go
  // in which it was made, if that is aborted.
  const call = currentCall();
  const sources = [request.signal, call?.signal].filter(Boolean);
  for (const source of sources) source.throwIfAborted();
  const { protocol } = new URL(request.url);
  if (protocol === "data:") return dataURL(request.url);
  if (protocol !== "http:" && protocol !== "https:") {
    const advice = protocol === "file:" ? "read files with node:fs" : "fetch speaks http, https and data";
    throw failed(new Error(`the scheme of ${request.url} is not known here: ${advice}`));
  }

  const stop = new AbortController();
  let stream = null;
  const abort = (event) => {
    stop.abort(event.target.reason);
    stream?.error(event.target.reason);
    items.return();
  };
  const over = () => {
    for (const source of sources) source.removeEventListener("abort", abort);
  };
  const body = await encode(request);
  for (const source of sources) source.throwIfAborted();
  const params = {
    // Outside of the query, Go takes no percent signs that stand for themselves.
    url: request.url.replace(/^[^?#]*|#.*$/g, (part) => part.replace(/%(?![0-9a-f]{2})/gi, "%25")),
    method: request.method,
    headers: [...request.headers],
    body,
    redirect: request.redirect,
    stray: !call,
  };
  // Only the number of the call: through its signal, the call would hold the body.
  const items = requestStream("fetch", params, call && { id: call.id }, stop.signal);
  for (const source of sources) source.addEventListener("abort", abort);

  let head;
  try {
    head = (await items.next()).value;
  } catch (error) {
    over();
    throw stop.signal.aborted ? stop.signal.reason : failed(error);
  }
  const bodiless = nullBody.includes(head.status) || request.method === "HEAD";
  if (bodiless) {
    over();
    void items.return();
  }
  const readable = bodiless
    ? null
    : new ReadableStream(
        {
          type: "bytes",
          start: (controller) => void (stream = controller),
          async pull(controller) {
            try {
              const { done, value } = await items.next();
              if (!done) return controller.enqueue(fromBase64(value));
              over();
              if (stop.signal.aborted) return;
              controller.close();
              controller.byobRequest?.respond(0);
            } catch (error) {
              over();
              throw stop.signal.aborted ? stop.signal.reason : cut(error);
            }
          },
          async cancel() {
            over();
            await items.return();
          },
        },
        { highWaterMark: 0 },
      );
  const response = new Response(readable && { stream: readable }, {
    status: head.status,
    statusText: head.statusText,
    headers: head.headers,
    [inside]: { url: head.url, redirected: head.redirected, type: "basic" },
  });
  if (readable) forgotten.register(readable, items);
  return response;
}

function dataURL(url) {
  const match = /^data:([^,]*?)(;\s*base64)?,(.*)$/is.exec(url.split("#")[0]);
  if (!match) throw failed(new Error("the data URL has no comma"));
  const [, type, base64, data] = match;
  const text = data.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
    String.fromCharCode(
      ...run
        .slice(1)
        .split("%")
        .map((h) => parseInt(h, 16)),
    ),
  );
  const bytes = base64
    ? fromBase64(text.replace(/\s/g, ""))
    : /[^\x00-\xff]/.test(text)
      ? encodeUTF8(text)
      : Uint8Array.from(text, (c) => c.charCodeAt(0));
  return new Response(bytes, { headers: { "content-type": type || "text/plain;charset=US-ASCII" } });
}
