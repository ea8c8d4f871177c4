// Parts of the language that the engine lacks.

for (const name of ["dispose", "asyncDispose"]) {
  if (!Symbol[name]) Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });
}

const define = (object, name, value) =>
  name in object || Object.defineProperty(object, name, { value, writable: true, configurable: true });

/** A line of the engine's stacks, with the methods that V8 gives to it. */
function callSite(line) {
  const [, name, place] = /^\s*at (.*?)(?: \((.*)\))?$/.exec(line) ?? [];
  const [, file, row, column] = /^(.*?)(?::(\d+))?(?::(\d+))?$/.exec(place ?? "");
  const native = place === "native";
  const number = (text) => (text === undefined ? null : Number(text));
  const no = () => false;
  return {
    getThis() {},
    getTypeName: () => null,
    getFunction() {},
    getFunctionName: () => (!name || name === "<anonymous>" ? null : name),
    getMethodName: () => null,
    getFileName: () => (native || !file ? null : file),
    getScriptNameOrSourceURL: () => (native || !file ? null : file),
    getLineNumber: () => number(row),
    getColumnNumber: () => number(column),
    getEvalOrigin() {},
    isNative: () => native,
    isToplevel: no,
    isEval: no,
    isConstructor: no,
    isAsync: no,
    isPromiseAll: no,
    getPromiseIndex: () => null,
    toString: () => line.trim().replace(/^at /, ""),
  };
}

const titleOf = Error.prototype.toString;

// The library has no positions, so the engine notes only the names of its functions.
const placed = (line) => (/\)$|:\d+:\d+$/.test(line) ? line : `${line} (<eval>)`);

/**
 * The stack of an error, made of the calls that the engine has noted: the text that
 * V8 has, or what Error.prepareStackTrace makes of it. It is made when it is read for
 * the first time, and stays.
 */
function stackOf(error, calls) {
  const keep = (value) =>
    Object.hasOwn(error, "stack") && Reflect.defineProperty(error, "stack", { value, writable: true, configurable: true });
  const lines = calls?.split("\n").filter(Boolean).map(placed) ?? []; // null without memory
  let stack = [titleOf.call(error), ...lines].join("\n");
  const prepare = Error.prepareStackTrace;
  if (typeof prepare === "function") {
    keep(stack); // the function may read it
    stack = prepare.call(Error, error, lines.map(callSite));
  }
  keep(stack);
  return stack;
}

// Go calls it when the stack of an error is read in QuickJS.
define(globalThis, "__stack", stackOf);

/** The lines of the calls that lead to the caller of the function that calls this one. */
export function callsHere() {
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = undefined;
  const lines = new Error().stack.split("\n").slice(3);
  Error.prepareStackTrace = prepareStackTrace;
  return lines;
}

// The engine notes no more of functions than their names.
define(Error, "captureStackTrace", function captureStackTrace(object, before) {
  let lines = callsHere();
  if (typeof before === "function" && before.name) {
    const at = lines.findIndex((line) => line.startsWith(`    at ${before.name} (`));
    lines = lines.slice(at + 1);
  }
  const calls = lines.join("\n");
  Object.defineProperty(object, "stack", {
    get() {
      return stackOf(this, calls);
    },
    set(value) {
      Object.defineProperty(this, "stack", { value, writable: true, configurable: true });
    },
    configurable: true,
  });
});
define(Error, "stackTraceLimit", 10);

define(Array, "fromAsync", async function fromAsync(items, map, self) {
  const out = typeof this === "function" ? new this() : [];
  const add = async (value) => {
    out[out.length] = map ? await map.call(self, value, out.length) : value;
  };
  if (items[Symbol.asyncIterator] || items[Symbol.iterator]) {
    for await (const item of items) await add(item);
  } else {
    for (let i = 0; i < items.length; i++) await add(await items[i]);
  }
  return out;
});

// The engine frees what has no reference left at once. By the language, what a
// WeakRef was made of, or has returned, stays until the running code is over.
let kept;
function keep(target) {
  if (!kept) {
    kept = [];
    Promise.resolve().then(() => (kept = undefined));
  }
  kept.push(target);
  return target;
}
const NativeWeakRef = globalThis.WeakRef;
globalThis.WeakRef = class WeakRef extends NativeWeakRef {
  constructor(target) {
    super(target);
    keep(target);
  }
  deref() {
    return keep(super.deref());
  }
};
