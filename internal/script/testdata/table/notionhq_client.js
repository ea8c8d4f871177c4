import { Client } from "@notionhq/client";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const answer = await new Client({ auth: "s", baseUrl: url }).pages.retrieve({ page_id: "p1" });
  return [answer.echo.method, answer.echo.path, answer.echo.authorization];
};

export const rootAgent = agent(run);
