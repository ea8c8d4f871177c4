import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import winston from "winston";
import { agent } from "./lib/agent.js";

const run = async () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "log-"));
  const file = new winston.transports.File({ filename: path.join(dir, "a.log") });
  const log = winston.createLogger({ level: "debug", format: winston.format.json(), transports: [file] });
  log.info("hello", { a: 1 });
  log.debug("more");
  await new Promise((resolve) => {
    file.on("finish", resolve);
    log.end();
  });
  while (fs.readFileSync(path.join(dir, "a.log"), "utf8").split("\n").length < 3) await new Promise((r) => setTimeout(r, 5));
  const text = fs.readFileSync(path.join(dir, "a.log"), "utf8");
  fs.rmSync(dir, { recursive: true });
  return text.trim().split("\n").map((line) => JSON.parse(line));
};

export const rootAgent = agent(run);
