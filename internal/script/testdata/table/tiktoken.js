import { get_encoding } from "tiktoken";
import { agent } from "./lib/agent.js";

const run = () => [...get_encoding("cl100k_base").encode("Hello, wörld!")];

export const rootAgent = agent(run);
