import fetch, { FormData, Headers } from "node-fetch";
import { agent, closed, failure, url } from "./lib/agent.js";

const run = async () => {
  const { echo } = await (await fetch(`${url}/x`, { method: "PUT", body: "y", headers: new Headers({ Authorization: "t" }) })).json();
  const form = new FormData();
  form.set("a", "1");
  const sent = await (await fetch(`${url}/x`, { method: "POST", body: form })).json();
  const gzip = await (await fetch(`${url}/gzip`)).json();
  return [echo.method, echo.body, echo.authorization, sent.echo.contentType.split(";")[0], gzip.echo.path, (await failure(() => fetch(`http://127.0.0.1:${closed}/`))).slice(0, 2)];
};

export const rootAgent = agent(run);
