import { Writable } from "node:stream";
import pino from "pino";
import { agent } from "./lib/agent.js";

const run = () => {
  const lines = [];
  const log = pino({ base: null, timestamp: false, redact: ["secret"] }, new Writable({ write: (part, _, done) => (lines.push(`${part}`), done()) }));
  log.child({ a: 1 }).warn({ secret: "x", error: 1 }, "hello %s", "you");
  return lines.map((line) => JSON.parse(line));
};

export const rootAgent = agent(run);
