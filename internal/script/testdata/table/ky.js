import ky from "ky";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const { echo } = await ky.post(`${url}/x`, { json: { a: 1 }, searchParams: { q: "ü" } }).json();
  const missing = await ky(`${url}/status/404`, { retry: 0 }).catch((e) => [e.name, e.response.status]);
  return [echo.method, echo.query, echo.body, missing];
};

export const rootAgent = agent(run);
