// Values as text, for people: what util.inspect and console.log show. It is loaded
// when there is a value to show: most agents log texts only.
const extracted = () => require("../third_party/node-inspect-extracted/inspect.js");

export const custom = Symbol.for("nodejs.util.inspect.custom");

export const inspect = (value, options) => extracted().inspect(value, options);

export const format = (...args) =>
  args.length === 1 && typeof args[0] === "string" ? args[0] : extracted().format(...args);
