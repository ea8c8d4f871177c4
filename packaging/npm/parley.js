#!/usr/bin/env node
// Starts the program of the package for this platform, and passes on its arguments,
// its signals and the way in which it ended.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { constants } from "node:os";

const platform = `@parley-run/parley-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "parley.exe" : "parley";
let program;
try {
  program = createRequire(import.meta.url).resolve(`${platform}/bin/${file}`);
} catch {
  console.error(
    `parley: the package ${platform} is not installed. Either there is no program for this platform, or npm was told to ` +
      "leave out optional packages (--omit=optional): install again without that.",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends a signal to both; only those that were sent to this process alone have to be passed on, and the
// program takes a second one for impatience.
if (!process.stdin.isTTY) process.on("SIGINT", () => child.kill("SIGINT"));
else process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`parley: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
