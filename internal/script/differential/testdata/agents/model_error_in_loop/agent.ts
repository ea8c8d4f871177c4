// > go
import { LlmAgent, LoopAgent } from "@google/adk";
import { Scripted } from "../model";

export const rootAgent = new LoopAgent({
  name: "loop",
  maxIterations: 2,
  subAgents: [new LlmAgent({ name: "unsure", model: new Scripted(new Error("overloaded"), "better") })],
});
