import axios from "axios";
import { agent, closed, failure, url } from "./lib/agent.js";

const run = async () => {
  const { data, status } = await axios.post(`${url}/x`, { a: 1 }, { params: { q: "ü" }, headers: { Authorization: "t" } });
  const gzip = await axios.get(`${url}/gzip`);
  const moved = await axios.get(`${url}/redirect`);
  const stream = await axios.get(`${url}/x`, { responseType: "stream" });
  let length = 0;
  for await (const part of stream.data) length += part.length;
  return [
    status, data.echo.method, data.echo.query, data.echo.body, data.echo.authorization, gzip.data.echo.path, moved.data.echo.path, length > 0,
    (await failure(() => axios.get(`${url}/status/404`))).slice(0, 2),
    (await failure(() => axios.get(`http://127.0.0.1:${closed}/`))).slice(0, 2),
    (await failure(() => axios.get(`${url}/hang`, { timeout: 50 }))).slice(0, 2),
    (await failure(() => axios.get(`${url}/hang`, { signal: AbortSignal.timeout(50) }))).slice(0, 2),
  ];
};

export const rootAgent = agent(run);
