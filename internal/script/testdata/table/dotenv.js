import dotenv from "dotenv";
import { agent } from "./lib/agent.js";

const run = () => dotenv.parse('A=1\nB="two\\nlines"\n# no\nexport C=\'x y\' # z\n');

export const rootAgent = agent(run);
