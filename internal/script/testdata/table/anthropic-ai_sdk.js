import Anthropic from "@anthropic-ai/sdk";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const client = new Anthropic({ apiKey: "k", baseURL: url });
  const answer = await client.messages.create({ model: "m", max_tokens: 5, messages: [{ role: "user", content: "hi" }] });
  return [answer.content, answer.echo.path, answer.echo.body];
};

export const rootAgent = agent(run);
