export const resolve = (name, context, next) =>
  name === "@google/adk" ? { url: new URL("./adk.js", import.meta.url).href, shortCircuit: true } : next(name, context);
