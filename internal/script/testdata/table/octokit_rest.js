import { Octokit } from "@octokit/rest";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const { data } = await new Octokit({ baseUrl: url, auth: "t" }).issues.create({ owner: "o", repo: "r", title: "x" });
  return [data.echo.method, data.echo.path, data.echo.body, data.echo.authorization];
};

export const rootAgent = agent(run);
