const { partial } = require("../prelude/absent.js");
const { host } = require("../prelude/host.js");

// Agents get little information about the machine, on purpose.
module.exports = partial(
  "node:os",
  {
    EOL: process.platform === "win32" ? "\r\n" : "\n",
    devNull: process.platform === "win32" ? "\\\\.\\nul" : "/dev/null",
    platform: () => process.platform,
    type: () => ({ linux: "Linux", darwin: "Darwin", win32: "Windows_NT" })[process.platform] ?? process.platform,
    arch: () => process.arch,
    machine: () => (process.arch === "x64" ? "x86_64" : process.arch),
    release: () => "",
    version: () => "",
    hostname: () => "localhost",
    tmpdir: () => host("tmpdir"),
    homedir: () => process.env.HOME ?? process.cwd(),
    endianness: () => "LE",
    uptime: () => process.uptime(),
    loadavg: () => [0, 0, 0],
    totalmem: () => process.memoryUsage().rss,
    freemem: () => 0,
    availableParallelism: () => 1,
    cpus: () => [{ model: "", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
    networkInterfaces: () => ({}),
    userInfo: () => ({ username: "agent", uid: 1000, gid: 1000, shell: null, homedir: process.cwd() }),
    getPriority: () => 0,
    constants: { signals: { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }, errno: {}, priority: {}, dlopen: {} },
  },
  "setPriority",
  "the process belongs to the server",
);
