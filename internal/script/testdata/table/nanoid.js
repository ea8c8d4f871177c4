import { customAlphabet, nanoid } from "nanoid";
import { agent } from "./lib/agent.js";

const run = () => [nanoid().length, /^[ab]{12}$/.test(customAlphabet("ab", 12)()), new Set(Array.from({ length: 100 }, () => nanoid())).size];

export const rootAgent = agent(run);
