export class Event {
  #type;
  #init;
  #stopped = false;
  #prevented = false;
  constructor(type, init = {}) {
    if (type === undefined) throw new TypeError("The type of an event is needed");
    this.#type = String(type);
    this.#init = {
      bubbles: Boolean(init.bubbles),
      cancelable: Boolean(init.cancelable),
      composed: Boolean(init.composed),
    };
    this.timeStamp = performance.now();
  }
  target = null;
  currentTarget = null;
  eventPhase = 0;
  isTrusted = false;
  get srcElement() {
    return this.target;
  }
  get type() {
    return this.#type;
  }
  get bubbles() {
    return this.#init.bubbles;
  }
  get cancelable() {
    return this.#init.cancelable;
  }
  get composed() {
    return this.#init.composed;
  }
  get defaultPrevented() {
    return this.#prevented;
  }
  preventDefault() {
    if (this.#init.cancelable) this.#prevented = true;
  }
  stopPropagation() {}
  stopImmediatePropagation() {
    this.#stopped = true;
  }
  composedPath() {
    return this.currentTarget ? [this.currentTarget] : [];
  }
  static stopped = (event) => event.#stopped;
  get [Symbol.toStringTag]() {
    return this.constructor.name;
  }
}

// Only the target asks for it; to programs it does not exist.
const { stopped } = Event;
delete Event.stopped;

export class CustomEvent extends Event {
  constructor(type, init = {}) {
    super(type, init);
    this.detail = init.detail ?? null;
  }
}

export class ErrorEvent extends Event {
  constructor(type, init = {}) {
    super(type, init);
    this.error = init.error;
    this.message = init.message ?? "";
  }
}

export class MessageEvent extends Event {
  constructor(type, init = {}) {
    super(type, init);
    this.data = init.data ?? null;
    this.origin = init.origin ?? "";
    this.lastEventId = init.lastEventId ?? "";
  }
}

/** Logs an error that no caller can catch. */
export function reportError(error) {
  console.error("Uncaught", error);
}

export class EventTarget {
  #listeners = new Map();

  addEventListener(type, callback, options) {
    if (callback == null) return;
    const {
      once = false,
      capture = false,
      signal,
    } = typeof options === "object" && options ? options : { capture: options };
    if (signal?.aborted) return;
    const list = this.#listeners.get(String(type)) ?? [];
    if (list.some((l) => l.callback === callback && l.capture === Boolean(capture))) return;
    // Lists are never changed in place: one may be on its way through them.
    this.#listeners.set(String(type), [...list, { callback, once, capture: Boolean(capture) }]);
    signal?.addEventListener("abort", () => this.removeEventListener(type, callback, options), { once: true });
  }

  removeEventListener(type, callback, options) {
    const capture = Boolean(typeof options === "object" && options ? options.capture : options);
    const list = this.#listeners.get(String(type));
    if (!list) return;
    const rest = list.filter((l) => l.callback !== callback || l.capture !== capture);
    if (rest.length) this.#listeners.set(String(type), rest);
    else this.#listeners.delete(String(type));
  }

  dispatchEvent(event) {
    if (!(event instanceof Event)) throw new TypeError("dispatchEvent takes an Event");
    event.target = event.currentTarget = this;
    event.eventPhase = 2;
    for (const listener of this.#listeners.get(event.type) ?? []) {
      if (!this.#listeners.get(event.type)?.includes(listener)) continue; // it was removed in the meantime
      if (listener.once) this.removeEventListener(event.type, listener.callback, listener.capture);
      try {
        if (typeof listener.callback === "function") listener.callback.call(this, event);
        else listener.callback.handleEvent(event);
      } catch (error) {
        reportError(error);
      }
      if (stopped(event)) break;
    }
    event.currentTarget = null;
    event.eventPhase = 0;
    return !event.defaultPrevented;
  }

  get [Symbol.toStringTag]() {
    return this.constructor.name;
  }
}

/** Gives a class the attribute on<type>, which is one listener that can be replaced. */
export function handlerAttribute(target, type) {
  const handlers = new WeakMap();
  Object.defineProperty(target.prototype, `on${type}`, {
    get() {
      return handlers.get(this)?.handler ?? null;
    },
    set(handler) {
      const held = handlers.get(this);
      if (held) held.handler = handler;
      else {
        const entry = { handler };
        handlers.set(this, entry);
        this.addEventListener(type, (event) => {
          if (typeof entry.handler === "function") entry.handler.call(this, event);
        });
      }
    },
    configurable: true,
    enumerable: true,
  });
}
