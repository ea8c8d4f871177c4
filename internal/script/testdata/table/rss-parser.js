import Parser from "rss-parser";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const feed = await new Parser().parseURL(`${url}/rss`);
  return [feed.title, feed.items.map((i) => [i.title, i.link, i.isoDate])];
};

export const rootAgent = agent(run);
