import { CompactEncrypt, compactDecrypt, exportJWK, generateKeyPair, jwtVerify, SignJWT } from "jose";
import { agent, failure } from "./lib/agent.js";

const run = async () => {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const token = await new SignJWT({ a: 1 }).setProtectedHeader({ alg: "ES256" }).setIssuer("me").sign(privateKey);
  const { payload, protectedHeader } = await jwtVerify(token, publicKey, { issuer: "me" });
  const secret = new Uint8Array(32);
  const sealed = await new CompactEncrypt(new TextEncoder().encode("x")).setProtectedHeader({ alg: "dir", enc: "A256GCM" }).encrypt(secret);
  return [payload, protectedHeader, (await exportJWK(publicKey)).kty, new TextDecoder().decode((await compactDecrypt(sealed, secret)).plaintext), (await failure(() => jwtVerify(token, publicKey, { issuer: "you" }))).slice(0, 2)];
};

export const rootAgent = agent(run);
