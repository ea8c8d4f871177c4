import { Agent, fetch, request } from "undici";
import { agent, closed, failure, url } from "./lib/agent.js";

const run = async () => {
  const { statusCode, headers, body } = await request(`${url}/x?q=1`, { method: "POST", body: "y", headers: { authorization: "t" } });
  const { echo } = await body.json();
  const dispatcher = new Agent({ connections: 1 });
  const got = await (await fetch(`${url}/gzip`, { dispatcher })).json();
  await dispatcher.close();
  return [statusCode, headers["content-type"], echo.method, echo.query, echo.body, echo.authorization, got.echo.path, (await failure(() => request(`http://127.0.0.1:${closed}/`))).slice(0, 2)];
};

export const rootAgent = agent(run);
