import { Hono } from "hono";
import { agent } from "./lib/agent.js";

const run = async () => {
  const app = new Hono();
  app.get("/a/:id", (c) => c.json({ id: c.req.param("id"), q: c.req.query("q") }));
  const answer = await app.request("/a/5?q=x");
  return [answer.status, await answer.json(), (await app.request("/none")).status];
};

export const rootAgent = agent(run);
