// Timers, which Go counts down, and promises that were rejected and have no handler.
import { bind } from "./context.js";

const timers = new Map();

globalThis.__timer = (id) => {
  const timer = timers.get(Number(id));
  if (!timer) return;
  if (!timer.repeat) timers.delete(timer.id);
  try {
    timer.fn(...timer.args);
  } catch (error) {
    reportError(error); // no caller can catch it
  }
};

// Promises that were rejected and have no handler. They are reported if they have
// none at the next turn.
const rejections = new Map();
const maxRejections = 100; // the others are not reported

globalThis.__rejected = (promise, reason, handled) => {
  if (handled) rejections.delete(promise);
  else if (rejections.size < maxRejections && rejections.set(promise, reason).size === 1) startTimer(reportRejections, 0, [], false);
};

// A module that fails rejects internal promises of the engine, with an error that Go
// has reported.
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
