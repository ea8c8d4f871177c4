import got from "got";
import { agent, closed, failure, url } from "./lib/agent.js";

const run = async () => {
  const { echo } = await got.post(`${url}/x`, { json: { a: 1 }, searchParams: { q: "1" } }).json();
  const gzip = await got(`${url}/gzip`).json();
  const moved = await got(`${url}/redirect`).json();
  let length = 0;
  for await (const part of got.stream(`${url}/x`)) length += part.length;
  return [echo.method, echo.query, echo.body, gzip.echo.path, moved.echo.path, length > 0, (await failure(() => got(`${url}/status/404`))).slice(0, 2), (await failure(() => got(`http://127.0.0.1:${closed}/`, { retry: { limit: 0 } }))).slice(0, 2), (await failure(() => got(`${url}/hang`, { timeout: { request: 50 }, retry: { limit: 0 } }))).slice(0, 2)];
};

export const rootAgent = agent(run);
