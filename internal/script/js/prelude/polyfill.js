// Parts of the language that the engine lacks.

for (const name of ["dispose", "asyncDispose"]) {
  if (!Symbol[name]) Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });
}

const define = (object, name, value) =>
  name in object || Object.defineProperty(object, name, { value, writable: true, configurable: true });

// The engine's stacks have no first line with the message, and here there is
// no frame to leave out but this function's own.
define(Error, "captureStackTrace", function captureStackTrace(object) {
  const stack = new Error().stack.split("\n").slice(1).join("\n");
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
