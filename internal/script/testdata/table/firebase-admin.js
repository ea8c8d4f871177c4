import { generateKeyPairSync } from "node:crypto";
import { cert, initializeApp } from "firebase-admin/app";
import { getAuth } from "firebase-admin/auth";
import { agent } from "./lib/agent.js";

const run = async () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048, privateKeyEncoding: { type: "pkcs8", format: "pem" }, publicKeyEncoding: { type: "spki", format: "pem" } });
  const app = initializeApp({ credential: cert({ projectId: "p", clientEmail: "a@p.example", privateKey }) });
  const token = await getAuth(app).createCustomToken("uid", { admin: true });
  const claims = JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
  return [claims.uid, claims.claims, claims.sub];
};

export const rootAgent = agent(run);
