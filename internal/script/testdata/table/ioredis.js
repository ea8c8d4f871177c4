import Redis from "ioredis";
import { agent, closed, failure } from "./lib/agent.js";

const run = async () => {
  const redis = new Redis(closed, "127.0.0.1", { lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  redis.on("error", () => {});
  return (await failure(() => redis.connect())).slice(0, 1);
};

export const rootAgent = agent(run);
