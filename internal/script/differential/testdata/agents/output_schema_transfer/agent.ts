// > go
// > again
import { LlmAgent } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const below = new LlmAgent({ name: "below", description: "Is below.", model: new Scripted("From below.") });

export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted('{"n":1}', [call("transfer_to_agent", { agentName: "below" })]),
  instruction: "Answer.",
  outputSchema: z.object({ n: z.number() }),
  subAgents: [below],
});
