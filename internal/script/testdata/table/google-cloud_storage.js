import { Storage } from "@google-cloud/storage";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const storage = new Storage({ apiEndpoint: url, projectId: "p", useAuthWithCustomEndpoint: false });
  const [meta] = await storage.bucket("b").file("a/b.txt").getMetadata();
  return [meta.echo.method, meta.echo.path];
};

export const rootAgent = agent(run);
