import request from "superagent";
import { agent, failure, url } from "./lib/agent.js";

const run = async () => {
  const { body } = await request.post(`${url}/x`).query({ q: 1 }).set("Authorization", "t").send({ a: 1 });
  return [body.echo.method, body.echo.query, body.echo.body, body.echo.authorization, (await failure(() => request.get(`${url}/status/500`)))[2]];
};

export const rootAgent = agent(run);
