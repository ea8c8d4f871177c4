import { drive as api } from "@googleapis/drive";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const drive = api({ version: "v3", rootUrl: `${url}/`, auth: "key" });
  const { data } = await drive.files.list({ q: "name = 'x'", pageSize: 1 });
  return [data.echo.path, data.echo.query];
};

export const rootAgent = agent(run);
