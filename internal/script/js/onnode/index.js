// prelude/index.js where Node.js runs the code. Node.js has the globals; this makes
// its process that of an application: its output goes to the log, its environment is
// that of the application, and an error that no code catches does not end it.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeConsole, write } from "../prelude/console.js";
import { exit, ProcessExit } from "../prelude/exit.js";
import { host, install } from "../prelude/host.js";
import "../prelude/imports.js";
import "../prelude/polyfill.js";

if (!Promise.withResolvers) {
  Object.defineProperty(Promise, "withResolvers", {
    value: function withResolvers() {
      const out = {};
      out.promise = new this((resolve, reject) => Object.assign(out, { resolve, reject }));
      return out;
    },
    writable: true,
    configurable: true,
  });
}

const facts = host("process", {});
Object.assign(process.env, facts.env);
process.argv[1] = join(facts.cwd, "index.js");
process.exit = (code = process.exitCode) => exit(code, (text) => write("warn", text));
process.abort = () => {
  throw new ProcessExit(134);
};

Object.assign(console, makeConsole());
process.on("uncaughtException", (error) => console.error("Uncaught", error));
process.on("unhandledRejection", (reason) => console.error("Uncaught (in promise)", reason));
process.on("warning", (warning) => write("warn", `${warning.name}: ${warning.message}`));

// What the bundle requires is that of the application.
install({ require: createRequire(join(facts.cwd, "index.js")) });

// Files are part of the bundle, and packages are not.
const importFile = globalThis.__import;
globalThis.__import = async (id, from) => {
  if (/^(\.{1,2}\/|\/|file:|[a-z]:[\\/])/i.test(id)) return importFile(id, from);
  const found = createRequire(from).resolve(id);
  return globalThis.__load(found === id ? id : pathToFileURL(found).href);
};
