// > go
// > approve returned {"status":"approved"}
import { LlmAgent, LongRunningFunctionTool } from "@google/adk";
import { Scripted, call } from "../model";

const approve = new LongRunningFunctionTool({ name: "approve", description: "Asks.", execute: () => ({ status: "pending", ticket: 7 }) });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("approve")], "I wait", "it is approved"), tools: [approve] });
