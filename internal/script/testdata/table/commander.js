import { Command } from "commander";
import { agent, failure } from "./lib/agent.js";

const run = async () => {
  const command = () => new Command().exitOverride().configureOutput({ writeErr: () => {} }).option("-n, --number <n>", "a number", Number).argument("<file>");
  const parsed = command().parse(["-n", "5", "x"], { from: "user" });
  return [parsed.opts(), parsed.args, (await failure(() => command().parse(["--what", "x"], { from: "user" }))).slice(1), command().name("p").helpInformation()];
};

export const rootAgent = agent(run);
