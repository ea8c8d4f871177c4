import { Tiktoken } from "js-tiktoken/lite";
import ranks from "js-tiktoken/ranks/cl100k_base";
import { agent } from "./lib/agent.js";

const run = () => {
  const encoding = new Tiktoken(ranks);
  const tokens = encoding.encode("Hello, wörld! 你好");
  return [tokens, encoding.decode(tokens)];
};

export const rootAgent = agent(run);
