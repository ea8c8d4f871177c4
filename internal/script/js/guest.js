// The JavaScript half of the protocol between Go and JavaScript; the other half is
// the Go package engine. Both sides send JSON text.
//
// Go calls a function with __call and gets the answer with __post, with little
// overhead: the round trip is most of the cost of a simple tool. Everything else is
// a message for __deliver, or a call of __host.
//
//   Go calls a function here:       call ──▶           ◀── ok | err
//   ... that is a generator:        call, next, … ──▶  ◀── item, …, ok | err
//   Go aborts the call:             abort ──▶
//   JavaScript requests something:  ◀── request, pull, …, leave   item, …, reply ──▶

import { enter, leave, lookUp } from "./prelude/context.js";
import { HostError } from "./prelude/host.js";

const functions = new Map(); // by their number; 0 is set by serve
const owned = new WeakMap(); // the numbers of functions, by owner
let lastFunction = 0; // no number is used twice: Go may still call an old one
const calls = new Map(); // calls of Go in flight
const requests = new Map(); // requests to Go in flight
let lastRequest = 0;

const post = globalThis.__post; // kind, call, value, rest

// QuickJS only: what answers most calls without a promise, and without text.
const settled = globalThis.__settled; // the value of a promise, or the second argument if it has none yet
const send = globalThis.__send; // call, value; false if the value has to be sent as text
const { then } = Promise.prototype;

/** Makes a function callable from Go until forget(owner). Returns its number. */
export function expose(fn, owner) {
  const number = ++lastFunction;
  functions.set(number, fn);
  if (owner) {
    if (!owned.has(owner)) owned.set(owner, []);
    owned.get(owner).push(number);
  }
  return number;
}

/** Removes the functions of an owner. */
export function forget(owner) {
  for (const number of owned.get(owner) ?? []) functions.delete(number);
  owned.delete(owner);
}

function forgotten() {
  throw new Error("The function belongs to a run that has ended");
}

/** Sets the function that Go calls to get the description of the application. */
export function serve(fn) {
  functions.set(0, fn);
}

/** A tool was called with invalid arguments. */
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
    return { name: "Error", message: "the code threw a value that cannot be inspected", stack: "" };
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

// A call of Go in flight. Most functions use nothing of it, so its members are lazy.
class Call {
  constructor(id, stream, about) {
    this.id = id;
    this.stream = stream;
    this.about = about;
    // Set where there is one, since each costs a little: context, of the function,
    // whose actions are sent with the answer; check, which throws if the result
    // cannot be sent; rest, additional data of the answer.
  }
  /** Information about the run. */
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
  /** For the context; see open in adk/context.js. */
  get call() {
    return this;
  }
}

// The answer of a synchronous function is sent at once: a promise would be a good
// part of the cost of a call.
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
    const later = result?.then;
    if (typeof later === "function") {
      const value = settled && later === then ? settled(result, result) : result;
      if (value !== result) {
        answer(call, value);
        return;
      }
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
    const { context } = call;
    if (send && !call.rest && !context?.acted && send(call.id, result)) {
      context?.end();
      over(call);
      return;
    }
    call.check?.(result);
    const value = JSON.stringify(result) ?? "null";
    const actions = context?.done;
    const rest = actions || call.rest ? JSON.stringify({ ...call.rest, actions }) : "";
    over(call);
    post("ok", call.id, value, rest);
  } catch (error) {
    fail(call, error);
  }
}

// A call and its context lead to each other, and would be kept until the engine
// looks for such values. Without the reference their memory is used again by the
// next call.
function over(call) {
  calls.delete(call.id);
  if (call.context) call.context = undefined; // for a new member there may be no memory
}

// The engine throws null when it has no memory for an error. Go then gets null, and
// treats it as such.
function fail(call, error) {
  over(call);
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
 * The call on whose behalf code runs. After an await it is known only if there is
 * exactly one.
 */
export function currentCall() {
  return lookUp(calls) ?? (calls.size === 1 ? calls.values().next().value : undefined);
}

/** Whether the author's modules are still running for the first time. */
export const loading = () => !functions.has(0);

/** How many calls of Go are in flight. */
export const underway = () => calls.size;

/** Requests a stream of items from Go, on behalf of a call if one is given. */
export async function* requestStream(op, params, call, signal) {
  const id = ++lastRequest;
  const stop = signal ?? call?.signal;
  const early = []; // items that arrived before next was called
  let asked; // the promise of the next item, if it is awaited
  let last; // how the stream ended
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
    __host("leave", String(id)); // at once: next may never be called again
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

/** Asks Go for one value. */
export async function ask(op, params) {
  for await (const value of requestStream(op, params)) return value;
  return undefined;
}
