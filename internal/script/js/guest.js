// The guest's half of the protocol between Go and JavaScript; guest.go is the
// other. Both sides send JSON text.
//
//   Go calls a function here:       call ──▶           ◀── ok | err
//   ... that is a generator:        call, next, … ──▶  ◀── item, …, ok | err
//   the call is given up:           abort ──▶
//   JavaScript asks something:      ◀── request        reply ──▶
//   ... with many answers:          ◀── request, pull, …, leave   item, …, reply ──▶

import { bind, lookUp, runWith } from "./prelude/context.js";
import { HostError } from "./prelude/host.js";

const functions = [null]; // the first is the application's own, see serve
const calls = new Map(); // calls of Go that are under way
const requests = new Map(); // requests to Go that are under way
let lastRequest = 0;

const post = (message) => __host("post", JSON.stringify(message));

/** Makes a function callable from Go. The result is its number. */
export function expose(fn) {
  return functions.push(fn) - 1;
}

/** Sets the function that Go calls first. */
export function serve(fn) {
  functions[0] = fn;
}

function describe(error) {
  try {
    if (error instanceof Error || (error && typeof error === "object" && "message" in error)) {
      return { name: String(error.name ?? "Error"), message: String(error.message), stack: String(error.stack ?? "") };
    }
  } catch {
    return { name: "Error", message: "the code threw something that cannot be looked at", stack: "" };
  }
  return { name: "Error", message: typeof error === "string" ? error : safeJSON(error), stack: "" };
}

function safeJSON(value) {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

// A call of Go that is under way. Most of them never ask for the signal.
class Call {
  #abort;
  constructor(id, stream) {
    this.id = id;
    this.stream = stream;
  }
  get abort() {
    return (this.#abort ??= new AbortController());
  }
  get signal() {
    return this.abort.signal;
  }
}

// Functions that answer at once are answered for at once: a promise less is a
// good part of what a call costs.
function run(call, fn, params) {
  const fail = (error) => finish(call, { t: "err", id: call.id, error: describe(error) });
  const answer = (result) => {
    if (!call.stream) return finish(call, { t: "ok", id: call.id, value: result === undefined ? null : result });
    call.generator = result[Symbol.asyncIterator] ? result[Symbol.asyncIterator]() : result[Symbol.iterator]();
    step(call, undefined);
  };
  try {
    const result = runWith(calls, call, functions[fn], [params, call]);
    if (typeof result?.then !== "function") return answer(result);
    result.then((value) => {
      try {
        answer(value);
      } catch (error) {
        fail(error);
      }
    }, fail);
  } catch (error) {
    fail(error);
  }
}

function finish(call, message) {
  calls.delete(call.id);
  try {
    post(message);
  } catch (error) {
    post({ t: "err", id: call.id, error: describe(error) });
  }
}

async function step(call, value) {
  try {
    const { done, value: item } = await runWith(calls, call, () => call.generator.next(value));
    if (done) finish(call, { t: "ok", id: call.id, value: null });
    else post({ t: "item", id: call.id, value: item });
  } catch (error) {
    finish(call, { t: "err", id: call.id, error: describe(error) });
  }
}

/**
 * The call on whose behalf code runs. After an await that is known only if
 * there is but one.
 */
export function currentCall() {
  return lookUp(calls) ?? (calls.size === 1 ? calls.values().next().value : undefined);
}

/** How many calls of Go are under way. */
export const underway = () => calls.size;

/** Asks Go for something. The call, if given, is the one on whose behalf. */
export function request(op, params, call, signal) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const id = ++lastRequest;
  requests.set(id, { resolve, reject });
  const stop = signal ?? call?.signal;
  if (stop) {
    const leave = () => {
      if (!requests.delete(id)) return;
      __host("leave", String(id));
      reject(stop.reason);
    };
    if (stop.aborted) {
      requests.delete(id);
      return Promise.reject(stop.reason);
    }
    stop.addEventListener("abort", leave, { once: true });
    promise.then(
      () => stop.removeEventListener("abort", leave),
      () => stop.removeEventListener("abort", leave),
    );
  }
  __host("request", JSON.stringify({ id, op, params, call: call?.id ?? 0 }));
  return promise;
}

/** Asks Go for a stream of things. */
export async function* requestStream(op, params, call, signal) {
  const id = ++lastRequest;
  const stop = signal ?? call?.signal;
  let waiting;
  let last; // how it ended; that may be before anyone asks
  const end = (how) => {
    last = how;
    how(waiting);
  };
  const next = () => {
    waiting = Promise.withResolvers();
    if (last) last(waiting);
    else {
      requests.set(id, {
        item: (value) => waiting.resolve({ value }),
        resolve: () => end((asked) => asked.resolve({ done: true })),
        reject: (error) => end((asked) => asked.reject(error)),
      });
    }
    return waiting.promise;
  };
  const abort = () => {
    requests.get(id)?.reject(stop.reason);
    __host("leave", String(id)); // at once: nobody may ask for the next item
  };
  if (stop?.aborted) throw stop.reason;
  stop?.addEventListener("abort", abort, { once: true });
  let over = false;
  try {
    let answer = next();
    __host("request", JSON.stringify({ id, op, params, call: call?.id ?? 0, stream: true }));
    for (;;) {
      const { done, value } = await answer.catch((error) => {
        over = true;
        throw error;
      });
      if (done) {
        over = true;
        return;
      }
      yield value;
      stop?.throwIfAborted();
      answer = next();
      __host("pull", String(id));
    }
  } finally {
    stop?.removeEventListener("abort", abort);
    requests.delete(id);
    if (!over) __host("leave", String(id));
  }
}

export { HostError };

const timers = new Map();

globalThis.__timer = (id) => {
  const timer = timers.get(Number(id));
  if (!timer) return;
  if (!timer.repeat) timers.delete(timer.id);
  try {
    timer.fn(...timer.args);
  } catch (error) {
    reportError(error); // nobody waits for it
  }
};

let lastTimer = 0;

function startTimer(fn, ms, args, repeat) {
  if (typeof fn !== "function") throw new TypeError("The callback of a timer must be a function");
  const id = ++lastTimer;
  const delay = Math.max(repeat ? 1 : 0, Math.min(Number(ms) || 0, 2 ** 31 - 1));
  timers.set(id, { id, fn: bind(fn), args, repeat });
  __host("timer", JSON.stringify({ id, ms: delay, repeat }));
  return new Timer(id);
}

// Node.js gives an object, browsers a number; this is both.
class Timer {
  constructor(id) {
    this.id = id;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  hasRef() {
    return true;
  }
  [Symbol.toPrimitive]() {
    return this.id;
  }
}

function stopTimer(timer) {
  const id = Number(timer);
  if (timers.delete(id)) __host("stopTimer", String(id));
}

globalThis.setTimeout = (fn, ms, ...args) => startTimer(fn, ms, args, false);
globalThis.setInterval = (fn, ms, ...args) => startTimer(fn, ms, args, true);
globalThis.setImmediate = (fn, ...args) => startTimer(fn, 0, args, false);
globalThis.clearTimeout = globalThis.clearInterval = globalThis.clearImmediate = stopTimer;
globalThis.queueMicrotask ??= (fn) => void Promise.resolve().then(fn);

globalThis.__deliver = (text) => {
  const m = JSON.parse(text);
  switch (m.t) {
    case "call": {
      const call = new Call(m.id, m.stream);
      calls.set(m.id, call);
      run(call, m.fn, m.params);
      return;
    }
    case "next": {
      const call = calls.get(m.id);
      if (call) step(call, m.value);
      return;
    }
    case "abort": {
      const call = calls.get(m.id);
      if (!call) return;
      calls.delete(m.id);
      call.abort.abort(new DOMException(m.reason || "The run was cancelled", "AbortError"));
      Promise.resolve(call.generator?.return?.()).catch(() => {});
      return;
    }
    case "item":
      requests.get(m.id)?.item(m.value);
      return;
    case "reply": {
      const waiting = requests.get(m.id);
      requests.delete(m.id);
      if (!waiting) return;
      if (m.error) waiting.reject(new HostError(m.error));
      else waiting.resolve(m.value);
    }
  }
};
