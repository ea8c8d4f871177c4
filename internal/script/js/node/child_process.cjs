// Programs cannot be started. Libraries that look for one and can do without it find
// that it is not there, as in Node.js: with an error that is not thrown.
const { absent, useNode } = require("../prelude/absent.js");
const EventEmitter = require("./events.cjs");

const advice = `agents cannot start programs; write a tool in Go, reach the program over HTTP with fetch, or ${useNode}`;

class ChildProcess extends EventEmitter {
  constructor(file) {
    super();
    const error = new Error(`spawn ${file} ENOENT: node:child_process is not available in this runtime: ${advice}`);
    this.failure = Object.assign(error, { errno: -2, code: "ENOENT", syscall: `spawn ${file}`, path: file });
    Object.assign(this, { pid: undefined, stdin: null, stdout: null, stderr: null, exitCode: null, connected: false });
    process.nextTick(() => this.emit("error", this.failure));
  }
  kill() {
    return false;
  }
  ref() {}
  unref() {}
}

const withCallback = (file, ...args) => {
  const done = args.find((arg) => typeof arg === "function");
  const child = new ChildProcess(file);
  if (done) child.on("error", (error) => done(Object.assign(error, { cmd: file }), "", ""));
  return child;
};
const promised = Symbol.for("nodejs.util.promisify.custom");
const run = (...args) => withCallback(...args);
run[promised] = (...args) =>
  new Promise((_, reject) => withCallback(...args, (error) => reject(Object.assign(error, { stdout: "", stderr: "" }))));

module.exports = absent("node:child_process", advice, "execFileSync execSync fork", {
  ChildProcess,
  exec: run,
  execFile: run,
  spawn: (file) => new ChildProcess(file),
  spawnSync: (file) => ({ ...resultOf(file), output: null, stdout: null, stderr: null }),
});

function resultOf(file) {
  const child = new ChildProcess(file);
  child.on("error", () => {});
  return { pid: 0, status: null, signal: null, error: child.failure };
}
