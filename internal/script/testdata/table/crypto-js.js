import CryptoJS from "crypto-js";
import { agent } from "./lib/agent.js";

const run = () => {
  const key = CryptoJS.enc.Hex.parse("00112233445566778899aabbccddeeff");
  const sealed = CryptoJS.AES.encrypt("text", key, { iv: key });
  return [sealed.toString(), CryptoJS.AES.decrypt(sealed, key, { iv: key }).toString(CryptoJS.enc.Utf8), CryptoJS.SHA256("x").toString(), CryptoJS.HmacSHA1("a", "b").toString(CryptoJS.enc.Base64)];
};

export const rootAgent = agent(run);
