const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:vm",
  "code comes from the agent's own files",
  "Script createContext createScript runInContext runInNewContext runInThisContext isContext compileFunction measureMemory constants",
  { isContext: () => false, constants: {} },
);
