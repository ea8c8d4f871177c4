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

// The engine's stacks have no first line with the message, and here there is
// no frame to leave out but this function's own. Error.prepareStackTrace has an
// effect here only, where libraries use it to learn who called them.
define(Error, "captureStackTrace", function captureStackTrace(object) {
  const lines = new Error().stack.split("\n").slice(1);
  const prepare = Error.prepareStackTrace;
  const stack = typeof prepare === "function" ? prepare.call(Error, object, lines.filter(Boolean).map(callSite)) : lines.join("\n");
  Object.defineProperty(object, "stack", { value: stack, writable: true, configurable: true });
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
