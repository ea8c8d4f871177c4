import { tavily } from "@tavily/core";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const answer = await tavily({ apiKey: "tvly-x", apiBaseURL: url }).search("q", { maxResults: 1 });
  return [answer.query, answer.results.length];
};

export const rootAgent = agent(run);
