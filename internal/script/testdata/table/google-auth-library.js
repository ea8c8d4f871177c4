import { generateKeyPairSync } from "node:crypto";
import { GoogleAuth, JWT } from "google-auth-library";
import { agent, url } from "./lib/agent.js";

const run = async () => {
  const { privateKey: key } = generateKeyPairSync("rsa", { modulusLength: 2048, privateKeyEncoding: { type: "pkcs8", format: "pem" }, publicKeyEncoding: { type: "spki", format: "pem" } });
  const client = new JWT({ email: "a@p.example", key, scopes: ["s"] });
  const auth = new GoogleAuth({ credentials: { client_email: "a@p.example", private_key: key }, projectId: "p" });
  const { data } = await new GoogleAuth({ authClient: undefined, apiKey: "k" }).request({ url: `${url}/x` });
  return [client.email, await auth.getProjectId(), data.echo.path];
};

export const rootAgent = agent(run);
