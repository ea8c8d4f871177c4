// > hello
// > more
// state {"who":"Ada"}
import { LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const child = new LlmAgent({ name: "child", model: new Scripted("I am the child", "again"), instruction: () => "Provided: {who}", disallowTransferToParent: true, disallowTransferToPeers: true });
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted([call("transfer_to_agent", { agentName: "child" })], "root again"),
  globalInstruction: "For all: {who}.",
  instruction: "For the root: {who} {missing?}.",
  subAgents: [child],
});
