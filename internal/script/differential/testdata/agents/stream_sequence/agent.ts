// stream
// > go
import { LlmAgent, SequentialAgent } from "@google/adk";
import { Scripted } from "../model";

export const rootAgent = new SequentialAgent({
  name: "chain",
  subAgents: [new LlmAgent({ name: "one", model: new Scripted("first of two"), outputKey: "a" }), new LlmAgent({ name: "two", model: new Scripted("second of two") })],
});
