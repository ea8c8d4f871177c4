import OpenAI from "openai";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const client = new OpenAI({ apiKey: "k", baseURL: `${url}/v1` });
  const answer = await client.chat.completions.create({ model: "m", messages: [{ role: "user", content: "hi" }] });
  const parts = [];
  const stream = await client.chat.completions.create({ model: "sse", stream: true, messages: [] });
  for await (const part of stream) parts.push(part.choices[0].delta.content);
  return [answer.choices[0].message.content, answer.echo.body, parts];
};

export const rootAgent = agent(run);
