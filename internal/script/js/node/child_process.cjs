const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:child_process",
  "agents cannot start programs; write a tool in Go, or reach the program over HTTP with fetch",
  "ChildProcess exec execFile execFileSync execSync fork spawn spawnSync",
);
