import { DOMException } from "./exception.js";
import { Event, EventTarget, handlerAttribute } from "./event.js";

const key = Symbol("only AbortController makes signals");

export class AbortSignal extends EventTarget {
  #aborted = false;
  #reason;
  constructor(token) {
    if (token !== key) throw new TypeError("Illegal constructor: make an AbortController, or use AbortSignal.timeout");
    super();
  }
  get aborted() {
    return this.#aborted;
  }
  get reason() {
    return this.#reason;
  }
  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }

  static trigger(signal, reason = new DOMException("This operation was aborted", "AbortError")) {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason;
    signal.dispatchEvent(new Event("abort"));
  }

  static abort(reason) {
    const signal = new AbortSignal(key);
    trigger(signal, reason);
    return signal;
  }

  static timeout(ms) {
    if (!(ms >= 0)) throw new RangeError("The time of AbortSignal.timeout must be a number that is not negative");
    const signal = new AbortSignal(key);
    setTimeout(() => trigger(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
    return signal;
  }

  static any(signals) {
    const signal = new AbortSignal(key);
    const sources = [...signals];
    const follow = (event) => {
      for (const source of sources) source.removeEventListener("abort", follow);
      trigger(signal, event.target.reason);
    };
    const already = sources.find((source) => source.aborted);
    if (already) trigger(signal, already.reason);
    else for (const source of sources) source.addEventListener("abort", follow);
    return signal;
  }
}

const { trigger } = AbortSignal;
delete AbortSignal.trigger;
handlerAttribute(AbortSignal, "abort");

export class AbortController {
  #signal = new AbortSignal(key);
  get signal() {
    return this.#signal;
  }
  abort(reason) {
    trigger(this.#signal, reason);
  }
  get [Symbol.toStringTag]() {
    return "AbortController";
  }
}
