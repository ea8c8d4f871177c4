import Exa from "exa-js";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const answer = await new Exa("key", url).search("q", { numResults: 1 });
  return [answer.echo.path, answer.echo.body];
};

export const rootAgent = agent(run);
