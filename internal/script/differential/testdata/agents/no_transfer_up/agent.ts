// > help
// > thanks
import { LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const sub = new LlmAgent({
  name: "sub",
  description: "Helps.",
  model: new Scripted("helped", "not asked"),
  disallowTransferToParent: true,
  disallowTransferToPeers: true,
});
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("transfer_to_agent", { agentName: "sub" })], "you are welcome"), subAgents: [sub] });
