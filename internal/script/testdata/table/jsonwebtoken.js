import { generateKeyPairSync } from "node:crypto";
import jwt from "jsonwebtoken";
import { agent, failure } from "./lib/agent.js";

const run = async () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const token = jwt.sign({ a: 1, iat: 1 }, privateKey, { algorithm: "ES256" });
  return [jwt.sign({ a: 1, iat: 1 }, "secret"), jwt.verify(token, publicKey), (await failure(() => jwt.verify(token.slice(0, -2), publicKey)))[2], jwt.decode(token, { complete: true }).header];
};

export const rootAgent = agent(run);
