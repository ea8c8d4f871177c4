import bcrypt from "bcryptjs";
import { agent } from "./lib/agent.js";

const run = async () => {
  const hash = "$2b$04$abcdefghijklmnopqrstuu";
  return [await bcrypt.hash("secret", hash), await bcrypt.compare("x", await bcrypt.hash("x", 4))];
};

export const rootAgent = agent(run);
