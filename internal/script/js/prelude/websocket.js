// WebSocket as in browsers. Go speaks the protocol.
import { ask, requestStream } from "../guest.js";
import { bytesOf, encodeUTF8, fromBase64, isBytes, toBase64 } from "./bytes.js";
import { ErrorEvent, Event, EventTarget, MessageEvent } from "./event.js";

export class CloseEvent extends Event {
  constructor(type, init = {}) {
    super(type, init);
    this.wasClean = Boolean(init.wasClean);
    this.code = Number(init.code ?? 0);
    this.reason = String(init.reason ?? "");
  }
}

const states = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 };
const token = /^[!#$%&'*+\-.^_`|~\w]+$/;
const syntaxError = (message) => new DOMException(message, "SyntaxError");

function address(url) {
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    throw syntaxError(`Invalid URL for a WebSocket: ${url}`);
  }
  parsed.protocol = { "http:": "ws:", "https:": "wss:" }[parsed.protocol] ?? parsed.protocol;
  if (parsed.protocol !== "ws:" && parsed.protocol !== "wss:")
    throw syntaxError(`Expected a ws: or wss: protocol, got ${parsed.protocol}`);
  if (parsed.hash || parsed.href.endsWith("#")) throw syntaxError("Got fragment");
  return parsed;
}

class WebSocket extends EventTarget {
  #url;
  #stop = new AbortController();
  #state = states.CONNECTING;
  #socket;
  #sent = Promise.resolve(); // all that was to be sent so far
  #buffered = 0;
  #handlers = {};
  #protocol = "";
  #extensions = "";
  binaryType = "blob";

  /** Besides protocols, Node.js takes an object with protocols and headers. */
  constructor(url, protocols = []) {
    super();
    this.#url = address(url);
    const options = typeof protocols === "object" && !Array.isArray(protocols) ? protocols : { protocols };
    const names = [options.protocols ?? []].flat().map(String);
    if (new Set(names.map((name) => name.toLowerCase())).size !== names.length || !names.every((name) => token.test(name)))
      throw syntaxError("Invalid Sec-WebSocket-Protocol value");
    const headers = [...new Headers(options.headers)];
    const { username, password } = this.#url;
    if (username || password) headers.push(["authorization", `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}`]);
    const plain = new URL(this.#url);
    plain.username = plain.password = "";
    this.#run({ url: plain.href, protocols: names, headers });
  }

  async #run(params) {
    const items = requestStream("websocket", params, undefined, this.#stop.signal);
    let close;
    let failure;
    try {
      const head = (await items.next()).value;
      if (this.#state !== states.CONNECTING) throw new Error("WebSocket was closed before the connection was established");
      this.#socket = head.socket;
      this.#protocol = head.protocol;
      this.#extensions = head.extensions;
      this.#state = states.OPEN;
      this.dispatchEvent(new Event("open"));
      for (;;) {
        const { done, value } = await items.next();
        if (done) break;
        close = value.close;
        if (close) continue;
        if (this.#state === states.OPEN) this.#message(value);
      }
    } catch (error) {
      failure = error;
    }
    this.#state = states.CLOSED;
    this.#stop.abort();
    if (!close) {
      const message = failure?.message ?? "the connection was closed";
      this.dispatchEvent(new ErrorEvent("error", { error: failure, message }));
    }
    this.dispatchEvent(new CloseEvent("close", { wasClean: Boolean(close), code: close?.code ?? 1006, reason: close?.reason ?? "" }));
  }
  #message({ text, data }) {
    let content = text;
    if (data !== undefined) {
      const bytes = fromBase64(data);
      content = this.binaryType === "blob" ? new Blob([bytes]) : bytes.buffer;
    }
    this.dispatchEvent(new MessageEvent("message", { data: content, origin: this.#url.origin }));
  }

  get url() {
    return this.#url.href;
  }
  get readyState() {
    return this.#state;
  }
  get protocol() {
    return this.#protocol;
  }
  get extensions() {
    return this.#extensions;
  }
  get bufferedAmount() {
    return this.#buffered;
  }

  send(data) {
    if (this.#state === states.CONNECTING) throw new DOMException("Sent before connected.", "InvalidStateError");
    if (this.#state !== states.OPEN) return;
    if (data instanceof Blob) {
      const bytes = data.arrayBuffer();
      this.#put(data.size, async () => ({ data: toBase64(new Uint8Array(await bytes)) }));
    } else if (isBytes(data)) {
      const copy = toBase64(bytesOf(data));
      this.#put(data.byteLength, () => ({ data: copy }));
    } else {
      const text = String(data).toWellFormed();
      this.#put(encodeUTF8(text).length, () => ({ text }));
    }
  }
  #put(size, make) {
    this.#buffered += size;
    this.#sent = this.#sent.then(async () => {
      try {
        await ask("websocket.send", { socket: this.#socket, ...(await make()) });
        this.#buffered -= size;
      } catch {
        this.#stop.abort(); // the other direction says why
      }
    });
  }

  close(code, reason = "") {
    if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999))
      throw new DOMException("invalid code", "InvalidAccessError");
    reason = String(reason).toWellFormed();
    if (encodeUTF8(reason).length > 123) throw syntaxError("Reason must be less than 123 bytes");
    if (this.#state >= states.CLOSING) return;
    const early = this.#state === states.CONNECTING;
    this.#state = states.CLOSING;
    if (early) this.#stop.abort();
    else this.#put(0, () => ({ close: { code: code ?? 1005, reason } }));
  }

  static {
    for (const name of ["open", "message", "error", "close"]) {
      Object.defineProperty(this.prototype, `on${name}`, {
        configurable: true,
        enumerable: true,
        get() {
          return this.#handlers[name] ?? null;
        },
        set(handler) {
          this.removeEventListener(name, this.#handlers[name]);
          this.#handlers[name] = typeof handler === "function" ? handler : null;
          this.addEventListener(name, this.#handlers[name]);
        },
      });
    }
    for (const [name, value] of Object.entries(states))
      for (const owner of [this, this.prototype]) Object.defineProperty(owner, name, { value, enumerable: true });
  }
}
export { WebSocket };
