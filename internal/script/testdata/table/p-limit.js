import pLimit from "p-limit";
import { agent } from "./lib/agent.js";

const run = async () => {
  const limit = pLimit(2);
  let [now, most] = [0, 0];
  const one = (n) => limit(async () => {
    most = Math.max(most, ++now);
    await new Promise((r) => setTimeout(r, 2));
    now--;
    return n;
  });
  return [await Promise.all([1, 2, 3, 4, 5].map(one)), most];
};

export const rootAgent = agent(run);
