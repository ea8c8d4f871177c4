// Channels of messages. There are no other threads: both ends are in this engine.
import { structuredClone } from "./clone.js";
import { DOMException } from "./exception.js";
import { EventTarget, handlerAttribute, MessageEvent } from "./event.js";

const inside = Symbol("messages");

const closed = (what) => new DOMException(`${what} is closed`, "InvalidStateError");

export class MessagePort extends EventTarget {
  #other = null;
  #queue = [];
  #started = false;
  #scheduled = false;
  #wrapped = new Map(); // by listener, for those of Node's own kind

  constructor(key) {
    if (key !== inside) throw Object.assign(new TypeError("Illegal constructor"), { code: "ERR_CONSTRUCT_CALL_INVALID" });
    super();
  }
  static join(a, b) {
    a.#other = b;
    b.#other = a;
  }
  /** The next message, without waiting for it. */
  static take(port) {
    return port.#queue.length ? { message: port.#queue.shift() } : undefined;
  }

  postMessage(message, options) {
    if (arguments.length === 0) throw Object.assign(new TypeError('The "message" argument must be specified'), { code: "ERR_MISSING_ARGS" });
    const transfer = Array.isArray(options) ? options : options?.transfer;
    const copy = structuredClone(message, { transfer });
    const other = this.#other;
    if (!other) return;
    other.#queue.push(copy);
    other.#schedule();
  }
  start() {
    this.#started = true;
    this.#schedule();
  }
  close() {
    const ends = [this, this.#other].filter(Boolean);
    for (const end of ends) end.#other = null;
    // Behind the messages that were sent before.
    setImmediate(() => ends.length > 1 && ends.forEach((end) => end.dispatchEvent(new MessageEvent("close"))));
  }
  ref() {}
  unref() {}
  hasRef() {
    return false;
  }

  #schedule() {
    if (!this.#started || this.#scheduled || !this.#queue.length) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#queue.length) this.dispatchEvent(new MessageEvent("message", { data: this.#queue.shift() }));
      this.#schedule();
    });
  }

  addEventListener(type, callback, options) {
    super.addEventListener(type, callback, options);
    if (type === "message") this.start();
  }
  on(type, listener, options) {
    const call = (event) => listener.call(this, ...(type === "message" ? [event.data] : []));
    this.#wrapped.set(listener, call);
    this.addEventListener(type, call, options);
    return this;
  }
  once(type, listener) {
    return this.on(type, listener, { once: true });
  }
  off(type, listener) {
    this.removeEventListener(type, this.#wrapped.get(listener) ?? listener);
    return this;
  }
  addListener(type, listener) {
    return this.on(type, listener);
  }
  removeListener(type, listener) {
    return this.off(type, listener);
  }
}
handlerAttribute(MessagePort, "message");
handlerAttribute(MessagePort, "messageerror");
handlerAttribute(MessagePort, "close");

// Only this runtime uses them; to programs they do not exist.
const { join, take } = MessagePort;
delete MessagePort.join;
delete MessagePort.take;
export { take };

export class MessageChannel {
  constructor() {
    this.port1 = new MessagePort(inside);
    this.port2 = new MessagePort(inside);
    join(this.port1, this.port2);
  }
}

const channels = new Map(); // the open ones, by name

export class BroadcastChannel extends EventTarget {
  #name;
  #open = true;
  constructor(name) {
    if (arguments.length === 0) throw Object.assign(new TypeError('The "name" argument must be specified'), { code: "ERR_MISSING_ARGS" });
    super();
    this.#name = String(name);
    if (!channels.has(this.#name)) channels.set(this.#name, new Set());
    channels.get(this.#name).add(this);
  }
  get name() {
    return this.#name;
  }
  postMessage(message) {
    if (!this.#open) throw closed("BroadcastChannel");
    for (const other of channels.get(this.#name)) {
      if (other === this) continue;
      const data = structuredClone(message);
      setImmediate(() => other.#open && other.dispatchEvent(new MessageEvent("message", { data })));
    }
  }
  close() {
    this.#open = false;
    const all = channels.get(this.#name);
    all?.delete(this);
    if (all?.size === 0) channels.delete(this.#name);
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
}
handlerAttribute(BroadcastChannel, "message");
handlerAttribute(BroadcastChannel, "messageerror");
