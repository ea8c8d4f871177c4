// EventEmitter is a function and no class: old code calls it without new.

const captured = Symbol.for("nodejs.rejection");
const monitor = Symbol("events.errorMonitor");

function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}
EventEmitter.init = function () {
  if (!Object.hasOwn(this, "_events")) {
    Object.defineProperty(this, "_events", { value: new Map(), writable: true, configurable: true });
  }
};

// What was made without the constructor gets its listeners when it needs them.
const listenersOf = (emitter) => {
  if (!Object.hasOwn(emitter, "_events")) EventEmitter.init.call(emitter);
  return emitter._events;
};

function add(emitter, name, listener, first) {
  if (typeof listener !== "function") {
    throw Object.assign(new TypeError('The "listener" argument must be of type function'), {
      code: "ERR_INVALID_ARG_TYPE",
    });
  }
  const all = listenersOf(emitter);
  if (all.has("newListener")) emitter.emit("newListener", name, listener.listener ?? listener);
  const list = all.get(name) ?? [];
  // Lists are never changed in place: one may be on its way through them.
  all.set(name, first ? [listener, ...list] : [...list, listener]);
  return emitter;
}

function onceOf(emitter, name, listener) {
  if (typeof listener !== "function") return listener; // add complains
  const wrapper = function (...args) {
    emitter.removeListener(name, wrapper);
    return listener.apply(this, args);
  };
  wrapper.listener = listener;
  return wrapper;
}

const methods = {
  on(name, listener) {
    return add(this, name, listener, false);
  },
  prependListener(name, listener) {
    return add(this, name, listener, true);
  },
  // Streams have a method on of their own.
  once(name, listener) {
    return this.on(name, onceOf(this, name, listener));
  },
  prependOnceListener(name, listener) {
    return this.prependListener(name, onceOf(this, name, listener));
  },
  removeListener(name, listener) {
    const all = listenersOf(this);
    const list = all.get(name) ?? [];
    const at = list.findLastIndex((l) => l === listener || l.listener === listener);
    if (at < 0) return this;
    if (list.length === 1) all.delete(name);
    else all.set(name, list.toSpliced(at, 1));
    if (all.has("removeListener")) this.emit("removeListener", name, listener);
    return this;
  },
  removeAllListeners(name) {
    const all = listenersOf(this);
    if (name === undefined) all.clear();
    else all.delete(name);
    return this;
  },
  emit(name, ...args) {
    const all = listenersOf(this);
    if (name === "error") {
      for (const listener of all.get(monitor) ?? []) listener.apply(this, args);
    }
    const list = all.get(name);
    if (!list) {
      if (name !== "error") return false;
      if (args[0] instanceof Error) throw args[0];
      throw Object.assign(new Error(`Unhandled error. (${String(args[0])})`), {
        code: "ERR_UNHANDLED_ERROR",
        context: args[0],
      });
    }
    for (const listener of list) listener.apply(this, args);
    return true;
  },
  listenerCount(name, listener) {
    const list = listenersOf(this).get(name) ?? [];
    return listener ? list.filter((l) => l === listener || l.listener === listener).length : list.length;
  },
  listeners(name) {
    return (listenersOf(this).get(name) ?? []).map((l) => l.listener ?? l);
  },
  rawListeners(name) {
    return [...(listenersOf(this).get(name) ?? [])];
  },
  eventNames() {
    return [...listenersOf(this).keys()];
  },
  setMaxListeners() {
    return this; // there are no warnings here
  },
  getMaxListeners() {
    return EventEmitter.defaultMaxListeners;
  },
};
methods.addListener = methods.on;
methods.off = methods.removeListener;
for (const [name, value] of Object.entries(methods)) {
  Object.defineProperty(EventEmitter.prototype, name, { value, writable: true, configurable: true, enumerable: true });
}

/** A promise of the next event. */
function once(emitter, name, { signal } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    if (typeof emitter.on !== "function" && typeof emitter.addEventListener === "function") {
      emitter.addEventListener(name, (event) => resolve([event]), { once: true });
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      return;
    }
    const done = (...args) => {
      emitter.removeListener("error", failed);
      resolve(args);
    };
    const failed = (error) => {
      emitter.removeListener(name, done);
      reject(error);
    };
    emitter.once(name, done);
    if (name !== "error") emitter.once("error", failed);
    signal?.addEventListener("abort", () => {
      emitter.removeListener(name, done);
      emitter.removeListener("error", failed);
      reject(signal.reason);
    });
  });
}

/** All events from now on, one after the other. */
async function* on(emitter, name, { signal, close = [] } = {}) {
  const queue = [];
  let wake = () => {};
  let failure;
  let over = false;
  const push = (...args) => {
    queue.push(args);
    wake();
  };
  const fail = (error) => {
    failure = { error };
    wake();
  };
  const end = () => {
    over = true;
    wake();
  };
  emitter.on(name, push);
  if (name !== "error") emitter.on("error", fail);
  for (const event of close) emitter.on(event, end);
  signal?.addEventListener("abort", () => fail(signal.reason), { once: true });
  if (signal?.aborted) fail(signal.reason);
  try {
    for (;;) {
      if (queue.length) yield queue.shift();
      else if (failure) throw failure.error;
      else if (over) return;
      else await new Promise((resolve) => (wake = resolve));
    }
  } finally {
    emitter.removeListener(name, push);
    emitter.removeListener("error", fail);
    for (const event of close) emitter.removeListener(event, end);
  }
}

Object.assign(EventEmitter, {
  EventEmitter,
  once,
  on,
  defaultMaxListeners: 10,
  captureRejections: false,
  captureRejectionSymbol: captured,
  errorMonitor: monitor,
  usingDomains: false,
  listenerCount: (emitter, name) => emitter.listenerCount(name),
  getEventListeners: (emitter, name) => emitter.listeners?.(name) ?? [],
  setMaxListeners() {},
  getMaxListeners: () => EventEmitter.defaultMaxListeners,
  addAbortListener(signal, listener) {
    if (signal.aborted) queueMicrotask(() => listener());
    else signal.addEventListener("abort", listener, { once: true });
    return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
  },
});
module.exports = EventEmitter;
