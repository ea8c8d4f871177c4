// > go
import { LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const child = new LlmAgent({ name: "child", description: "Below.", model: new Scripted("hi") });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("transfer_to_agent", { agentName: "missing" })], "sorry"), subAgents: [child] });
