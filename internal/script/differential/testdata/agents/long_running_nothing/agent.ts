// > go
// > approve returned {"status":"approved"}
import { LlmAgent, LongRunningFunctionTool } from "@google/adk";
import { Scripted, call } from "../model";

const approve = new LongRunningFunctionTool({ name: "approve", description: "Asks.", execute: () => undefined as any });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("approve")], "it is approved"), tools: [approve] });
