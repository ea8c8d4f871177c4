// The context of running code: the call of Go that it belongs to, and the values of
// AsyncLocalStorage.
//
// The engine has no hook for await, so a context is certain only until the first
// await of a function. This runtime passes it on where it can: then, timers,
// microtasks. After an await it is not certain; callers have to do with what can be
// excluded.

// A chain of {key, value, outer}: every call of Go adds a link, so it must cost
// next to nothing.
let current;

/** Runs a function with another value in its context. */
export function runWith(key, value, fn, args) {
  return runIn({ key, value, outer: current }, fn, args);
}

/** runWith in two steps, without the cost of a closure: leave takes the result of enter. */
export function enter(key, value) {
  const before = current;
  current = { key, value, outer: before };
  return before;
}

export function leave(before) {
  current = before;
}

export function runIn(context, fn, args = [], self = undefined) {
  const before = current;
  current = context;
  try {
    return Reflect.apply(fn, self, args);
  } finally {
    current = before;
  }
}

export function lookUp(key) {
  for (let link = current; link; link = link.outer) if (link.key === key) return link.value;
  return undefined;
}

export const snapshot = () => current;

/** A function that runs in the current context. */
export function bind(fn) {
  if (typeof fn !== "function" || !current) return fn;
  const context = current;
  return function (...args) {
    return runIn(context, fn, args, this);
  };
}

let carrying = false;

/** From now on, what then is given keeps its context. It costs a little, so it is off until it is used. */
export function carry() {
  if (carrying) return;
  carrying = true;
  const { then } = Promise.prototype;
  Object.defineProperty(Promise.prototype, "then", {
    value: {
      then(done, failed) {
        return current ? then.call(this, bind(done), bind(failed)) : then.call(this, done, failed);
      },
    }.then,
    writable: true,
    configurable: true,
  });
}
