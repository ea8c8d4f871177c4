// > a poem
import { LlmAgent, SequentialAgent } from "@google/adk";
import { Scripted } from "../model";

export const rootAgent = new SequentialAgent({
  name: "chain",
  subAgents: [
    new LlmAgent({ name: "writer", model: new Scripted("roses are red"), outputKey: "draft" }),
    new LlmAgent({ name: "critic", model: new Scripted("too short"), instruction: "Judge: {draft}", outputKey: "verdict" }),
    new LlmAgent({ name: "editor", model: new Scripted("roses are red, and long"), instruction: "Improve {draft} by {verdict}", includeContents: "none" }),
  ],
});
