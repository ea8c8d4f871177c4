// The guest's half of the protocol between Go and JavaScript; guest.go is the
// other. Both sides send JSON text.
//
// A call of Go comes through __call and is answered through __post, with as
// little around it as can be: most of what a tool costs is the way there and
// back. Everything else is a message for __deliver, or a call of __host.
//
//   Go calls a function here:       call ──▶           ◀── ok | err
//   ... that is a generator:        call, next, … ──▶  ◀── item, …, ok | err
//   the call is given up:           abort ──▶
//   JavaScript asks something:      ◀── request, pull, …, leave   item, …, reply ──▶

import { bind, enter, leave, lookUp } from "./prelude/context.js";
import { HostError } from "./prelude/host.js";

const functions = new Map(); // by their number; 0 is the application's own, see serve
const owned = new WeakMap(); // the numbers of functions, by whom they belong to
let lastFunction = 0; // no number is given twice: Go may be late
const calls = new Map(); // calls of Go that are under way
const requests = new Map(); // requests to Go that are under way
let lastRequest = 0;

const post = globalThis.__post; // kind, call, value, rest

/** Makes a function callable from Go, until its owner is forgotten. The result is its number. */
export function expose(fn, owner) {
  const number = ++lastFunction;
  functions.set(number, fn);
  if (owner) {
    if (!owned.has(owner)) owned.set(owner, []);
    owned.get(owner).push(number);
  }
  return number;
}

/** Ends what Go can call of an owner. */
export function forget(owner) {
  for (const number of owned.get(owner) ?? []) functions.delete(number);
  owned.delete(owner);
}

function forgotten() {
  throw new Error("What the function belongs to is over");
}

/** Sets the function that Go calls first. */
export function serve(fn) {
  functions.set(0, fn);
}

/** Says that a tool was called with arguments that it does not take. */
export class InvalidArguments extends Error {
  constructor(tool, message) {
    super(message);
    this.tool = tool;
  }
}

function describe(error) {
  try {
    if (error instanceof InvalidArguments) return { message: error.message, tool: error.tool };
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

// A call of Go that is under way. Most functions ask for nothing of it.
class Call {
  constructor(id, stream, about) {
    this.id = id;
    this.stream = stream;
    this.about = about;
    this.context = undefined; // in which the function works; what it did there goes with the answer
    this.rest = undefined; // what else goes with the answer
  }
  /** What Go says about the run. */
  get info() {
    const value = JSON.parse(this.about);
    Object.defineProperty(this, "info", { value });
    return value;
  }
  get abort() {
    const value = new AbortController();
    Object.defineProperty(this, "abort", { value });
    return value;
  }
  get signal() {
    return this.abort.signal;
  }
}

// Functions that answer at once are answered for at once: a promise less is a
// good part of what a call costs.
function run(call, fn, params) {
  let result;
  try {
    const given = params === "" ? undefined : JSON.parse(params);
    const before = enter(calls, call);
    try {
      result = fn(given, call);
    } finally {
      leave(before);
    }
    if (typeof result?.then === "function") {
      result.then(
        (value) => answer(call, value),
        (error) => fail(call, error),
      );
      return;
    }
  } catch (error) {
    fail(call, error);
    return;
  }
  answer(call, result);
}

function answer(call, result) {
  try {
    if (call.stream) {
      call.generator = result[Symbol.asyncIterator] ? result[Symbol.asyncIterator]() : result[Symbol.iterator]();
      step(call, undefined);
      return;
    }
    const value = JSON.stringify(result) ?? "null";
    const actions = call.context?.done;
    const rest = actions || call.rest ? JSON.stringify({ ...call.rest, actions }) : "";
    calls.delete(call.id);
    post("ok", call.id, value, rest);
  } catch (error) {
    fail(call, error);
  }
}

// The engine throws null when it has no memory for an error. Then nothing is
// said, which Go understands.
function fail(call, error) {
  calls.delete(call.id);
  let text = "null";
  try {
    if (error !== null || new ArrayBuffer(1 << 20)) text = JSON.stringify(describe(error));
  } catch {}
  post("err", call.id, text, "");
}

async function step(call, value) {
  try {
    const before = enter(calls, call);
    let next;
    try {
      next = call.generator.next(value);
    } finally {
      leave(before);
    }
    const { done, value: item } = await next;
    if (!done) return void post("item", call.id, JSON.stringify(item) ?? "null", "");
    calls.delete(call.id);
    post("ok", call.id, "null", "");
  } catch (error) {
    fail(call, error);
  }
}

/**
 * The call on whose behalf code runs. After an await that is known only if
 * there is but one.
 */
export function currentCall() {
  return lookUp(calls) ?? (calls.size === 1 ? calls.values().next().value : undefined);
}

/** Whether the author's modules are still running for the first time. */
export const loading = () => !functions.has(0);

/** How many calls of Go are under way. */
export const underway = () => calls.size;

/** Asks Go for a stream of things. The call, if given, is the one on whose behalf. */
export async function* requestStream(op, params, call, signal) {
  const id = ++lastRequest;
  const stop = signal ?? call?.signal;
  const early = []; // items that came before anyone asked
  let asked; // by whom the next one is waited for
  let last; // how it ended; that may be before anyone asks
  const answer = (how) => {
    how(asked);
    asked = undefined;
  };
  const end = (how) => {
    last ??= how;
    if (asked) answer(last);
  };
  const next = () => {
    asked = Promise.withResolvers();
    const { promise } = asked;
    if (early.length > 0) answer(({ resolve }) => resolve({ value: early.shift() }));
    else if (last) answer(last);
    return promise;
  };
  const abort = () => {
    early.length = 0;
    end(({ reject }) => reject(stop.reason));
    __host("leave", String(id)); // at once: nobody may ask for the next item
  };
  if (stop?.aborted) throw stop.reason;
  stop?.addEventListener("abort", abort, { once: true });
  let over = false;
  try {
    let coming = next();
    requests.set(id, {
      item: (value) => (asked ? answer(({ resolve }) => resolve({ value })) : early.push(value)),
      resolve: () => end(({ resolve }) => resolve({ done: true })),
      reject: (error) => end(({ reject }) => reject(error)),
    });
    __host("request", JSON.stringify({ id, op, params, call: call?.id ?? 0 }));
    for (;;) {
      const { done, value } = await coming.catch((error) => {
        over = true;
        throw error;
      });
      if (done) {
        over = true;
        return;
      }
      yield value;
      stop?.throwIfAborted();
      coming = next();
      if (!last) __host("pull", String(id));
    }
  } finally {
    stop?.removeEventListener("abort", abort);
    requests.delete(id);
    if (!over && !last) __host("leave", String(id));
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

// Promises that were rejected, and nobody has listened to them so far. Whoever
// is to do so has until the next turn.
const rejections = new Map();
const mostRejections = 100; // the others go without a word

globalThis.__rejected = (promise, reason, handled) => {
  if (handled) rejections.delete(promise);
  else if (rejections.size < mostRejections && rejections.set(promise, reason).size === 1) startTimer(reportRejections, 0, [], false);
};

// A module that fails rejects promises of the engine's own, with an error that Go
// reports.
globalThis.__reported = (reason) => {
  for (const [promise, other] of rejections) if (other === reason) rejections.delete(promise);
};

function reportRejections() {
  for (const reason of rejections.values()) console.error("Uncaught (in promise)", reason);
  rejections.clear();
}

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

globalThis.__call = (id, fn, stream, params, about) => {
  const call = new Call(id, stream, about);
  calls.set(id, call);
  run(call, functions.get(fn) ?? forgotten, params);
};

globalThis.__deliver = (text) => {
  const m = JSON.parse(text);
  switch (m.t) {
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
      (async () => call.generator?.return?.())().catch(() => {});
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
      else waiting.resolve();
    }
  }
};
