// What code knows about why it runs: the call of Go that it belongs to, and
// what an AsyncLocalStorage holds.
//
// The engine has no hook for await, so a context is sure only until the first
// await of a function. It is carried on by hand where this runtime has its
// hands on: then, timers, microtasks. After an await nothing is known for
// sure; callers have to do with what can be excluded.

// A chain of {key, value, outer}: every call of Go adds a link, so it must cost
// next to nothing.
let current;

/** Runs a function with one more thing in its context. */
export function runWith(key, value, fn, args) {
  return runIn({ key, value, outer: current }, fn, args);
}

/** runWith in two steps, where a function around the function would be too much: leave takes what enter gave. */
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

/** A function that runs in the context of now. */
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
