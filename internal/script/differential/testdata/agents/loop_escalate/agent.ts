// > go
import { EXIT_LOOP, LlmAgent, LoopAgent } from "@google/adk";
import { Scripted, call } from "../model";

export const rootAgent = new LoopAgent({
  name: "loop",
  maxIterations: 5,
  subAgents: [
    new LlmAgent({ name: "writer", model: new Scripted("one", "two"), outputKey: "draft" }),
    new LlmAgent({ name: "judge", model: new Scripted("not yet", [call("exit_loop")], "left"), tools: [EXIT_LOOP] }),
  ],
});
