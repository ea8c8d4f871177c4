// > bill me
// > thanks
import { LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const billing = new LlmAgent({ name: "billing", description: "Bills.", model: new Scripted("Here is the bill.", [call("transfer_to_agent", { agentName: "support" })]), instruction: "You bill." });
const support = new LlmAgent({ name: "support", description: "Supports.", model: new Scripted("How can I help?"), instruction: "You support." });
export const rootAgent = new LlmAgent({
  name: "root",
  description: "Routes.",
  model: new Scripted([{ text: "one moment" }, call("transfer_to_agent", { agentName: "billing" })]),
  instruction: "Route.",
  subAgents: [billing, support],
});
