import { createClient } from "redis";
import { agent, closed, failure } from "./lib/agent.js";

const run = async () => {
  const client = createClient({ socket: { host: "127.0.0.1", port: closed, reconnectStrategy: false } });
  client.on("error", () => {});
  return (await failure(() => client.connect())).slice(0, 2);
};

export const rootAgent = agent(run);
