// AsyncLocalStorage as far as this engine lets it be. Within run, and in what
// run starts with then, timers and microtasks, the store is there. The engine
// has no hook for await: behind one, the store is there as long as no other
// run is waiting and the server is busy with one call at most. Where that is
// not so, getStore says undefined, which is better than the store of another.
const { bind, carry, lookUp, runIn, runWith, snapshot } = require("../prelude/context.js");
const { missing } = require("../prelude/host.js");
const { underway } = require("../guest.js");

let warned = false;

class AsyncLocalStorage {
  #waiting = new Set();

  run(store, fn, ...args) {
    carry();
    const entry = { store };
    const result = runWith(this, entry, fn, args);
    if (typeof result?.then === "function") {
      this.#waiting.add(entry);
      const done = () => void this.#waiting.delete(entry);
      result.then(done, done);
    }
    return result;
  }
  exit(fn, ...args) {
    return runWith(this, { store: undefined }, fn, args);
  }
  getStore() {
    const entry = lookUp(this);
    if (entry) return entry.store;
    if (this.#waiting.size === 0) return undefined;
    if (this.#waiting.size === 1 && underway() <= 1) return [...this.#waiting][0].store;
    if (!warned)
      process.emitWarning(
        "AsyncLocalStorage cannot tell calls apart behind an await in this runtime: pass the value as an argument",
      );
    warned = true;
    return undefined;
  }
  disable() {
    this.#waiting.clear();
  }
  static bind(fn) {
    return bind(fn);
  }
  static snapshot() {
    const context = snapshot();
    return (fn, ...args) => runIn(context, fn, args);
  }
}

// What it starts would have no end here, and reach the calls of others.
AsyncLocalStorage.prototype.enterWith = missing("enterWith of AsyncLocalStorage", "use run");

class AsyncResource {
  #context = snapshot();
  constructor(type) {
    this.type = type;
  }
  runInAsyncScope(fn, self, ...args) {
    return runIn(this.#context, fn, args, self);
  }
  bind(fn) {
    return (...args) => this.runInAsyncScope(fn, undefined, ...args);
  }
  static bind(fn) {
    return bind(fn);
  }
  emitDestroy() {
    return this;
  }
  asyncId() {
    return 0;
  }
  triggerAsyncId() {
    return 0;
  }
}

const hook = { enable: () => hook, disable: () => hook };
module.exports = {
  AsyncLocalStorage,
  AsyncResource,
  createHook: () => hook,
  executionAsyncId: () => 0,
  triggerAsyncId: () => 0,
  executionAsyncResource: () => ({}),
};
