// The first file that Node.js runs: it moves text between Go and js/guest.js, which
// is in the library that it loads. Frames have a length, in four bytes, and JSON;
// see process.go.
"use strict";

const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const vm = require("node:vm");
const { Worker } = require("node:worker_threads");

const [commands, frames, answers, lifeline] = [3, 4, 5, 6];

// The author's code may replace these.
const { stringify, parse } = JSON;
const { alloc, from, concat } = Buffer;
const { readSync, writeSync } = fs;
const { wait } = Atomics;
const { kill, pid } = process;

/**
 * Ends this process and those that it has started: there is no server any more. The
 * other thread does the same, and removes the files; it has some time for that.
 */
function die() {
  try {
    wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5000);
    kill.call(process, -pid, "SIGKILL");
  } finally {
    kill.call(process, pid, "SIGKILL");
  }
}

function send(...frame) {
  const text = from(stringify(frame));
  const head = alloc(4);
  head.writeUInt32LE(text.length);
  const bytes = concat([head, text]);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(frames, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") die();
    }
  }
}

function read(length) {
  const bytes = alloc(length);
  for (let at = 0; at < length; ) {
    let n = 0;
    try {
      n = readSync(answers, bytes, at, length - at, null);
    } catch (error) {
      if (error.code === "EAGAIN") continue;
    }
    if (n === 0) die();
    at += n;
  }
  return bytes;
}

// Go answers at once, and the code waits for it.
globalThis.__host = (name, payload = "") => {
  send("host", String(name), String(payload));
  const head = read(5);
  const text = read(head.readUInt32LE()).toString();
  if (head[4] !== 0) throw new Error(text);
  return text;
};
globalThis.__post = (kind, id, value, rest) => {
  if (loading) {
    loading = false;
    channel.ref();
  }
  send("post", kind, id, value, rest);
};
globalThis.__load = (url) => import(url); // for the library, which is not a file

// A server that is killed closes its end, also while this thread does not yield.
const watch = new Worker(
  `const { workerData: { fd, pid, dir, mark } } = require("node:worker_threads");
const fs = require("node:fs");
// Those that have left the process group. They may start others in the meantime.
const killMarked = () => {
  for (let found = true, passes = 0; found && passes < 100; passes++) {
    found = false;
    for (const name of fs.readdirSync("/proc")) {
      if (!/^[0-9]+$/.test(name) || Number(name) === pid) continue;
      try {
        if (!fs.readFileSync("/proc/" + name + "/environ").includes(mark)) continue;
        process.kill(Number(name), "SIGKILL");
        found = true;
      } catch {} // it has ended, or is not ours
    }
  }
};
const over = () => {
  try {
    fs.rmSync(dir, { recursive: true, force: true });
  } catch {}
  try {
    if (process.platform === "linux") killMarked();
  } finally {
    try {
      process.kill(-pid, "SIGKILL");
    } finally {
      process.kill(pid, "SIGKILL"); // it may have left the group
    }
  }
};
new (require("node:net").Socket)({ fd, readable: true, writable: false }).on("error", over).on("end", over).resume();`,
  { eval: true, workerData: { fd: lifeline, pid, dir: __dirname, mark: "ENGINE_OF_PARLEY=" + process.env.ENGINE_OF_PARLEY }, env: {}, execArgv: [] },
);
watch.on("error", () => {});
watch.unref();

// A service manager sends these to all processes of a service. The server ends this
// one when its runs have ended. Listeners of the author's code are called, too.
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {});

const channel = new net.Socket({ fd: commands, readable: true, writable: false });

/** Whether the application has not yet described itself. */
let loading = true;
let handled = 0; // frames of Go

let call;
let deliver;

const describe = (error) =>
  stringify({ name: error?.name, message: error == null ? "" : String(error.message ?? error), stack: String(error?.stack ?? "") });

async function load(name) {
  const library = fs.readFileSync(path.join(__dirname, "library.js"), "utf8");
  const module = { exports: {} };
  vm.compileFunction(library, ["require", "module", "exports"], { filename: "parley" })(require, module, module.exports);
  ({ __call: call, __deliver: deliver } = globalThis);
  await import(pathToFileURL(path.join(__dirname, name)).href);
}

function handle([kind, ...rest]) {
  switch (kind) {
    case "call":
      return call?.(...rest);
    case "deliver":
      return deliver?.(...rest);
    case "ping":
      return send("pong", ...rest);
    case "load":
      load(...rest).then(
        () => send("loaded", ""),
        (error) => send("loaded", describe(error)),
      );
  }
}

// While the application loads, the channel does not keep the event loop alive: an
// empty one means that the code waits for nothing but Go.
process.on("beforeExit", () => {
  channel.ref();
  if (loading) send("idle", handled);
});

let parts = [];
let size = 0;
channel.on("data", (chunk) => {
  parts.push(chunk);
  size += chunk.length;
  while (size >= 4) {
    if (parts[0].length < 4) parts = [concat(parts)];
    const length = parts[0].readUInt32LE();
    if (size < 4 + length) break;
    const bytes = parts.length === 1 ? parts[0] : concat(parts);
    const text = bytes.toString("utf8", 4, 4 + length);
    parts = [bytes.subarray(4 + length)];
    size -= 4 + length;
    handled++;
    if (loading) channel.unref();
    handle(parse(text));
  }
});
channel.on("end", die);
channel.on("error", die);

if (Number(process.versions.node.split(".")[0]) < 20) {
  send("fail", `Node.js 20 or newer is needed, and this is ${process.version}`);
}
