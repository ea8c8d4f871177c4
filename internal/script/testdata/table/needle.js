import needle from "needle";
import { agent, closed, failure, url } from "./lib/agent.js";

const run = async () => {
  const { body, statusCode } = await needle("post", `${url}/x`, { a: 1 }, { json: true });
  return [statusCode, body.echo.body, (await needle("get", `${url}/gzip`, { compressed: true })).body.echo.path, (await failure(() => needle("get", `http://127.0.0.1:${closed}/`))).slice(0, 2)];
};

export const rootAgent = agent(run);
