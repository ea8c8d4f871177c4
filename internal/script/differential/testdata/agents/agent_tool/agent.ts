// > go
import { AgentTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const helper = new LlmAgent({ name: "helper", description: "Helps.", model: new Scripted("help is here"), instruction: "Help.", outputKey: "helped" });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("helper", { request: "please" })], "done"), tools: [new AgentTool({ agent: helper })] });
