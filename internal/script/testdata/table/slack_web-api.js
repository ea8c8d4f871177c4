import { WebClient } from "@slack/web-api";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const answer = await new WebClient("xoxb-1", { slackApiUrl: `${url}/api/`, retryConfig: { retries: 0 } }).chat.postMessage({ channel: "C1", text: "hi" });
  return [answer.ok, answer.echo.path, answer.echo.body, answer.echo.authorization];
};

export const rootAgent = agent(run);
