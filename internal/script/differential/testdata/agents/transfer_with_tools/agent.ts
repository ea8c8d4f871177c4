// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const look = new FunctionTool({ name: "look", description: "Looks.", parameters: z.object({ at: z.string() }), execute: ({ at }) => ({ seen: at }) });
const child = new LlmAgent({ name: "child", description: "Below.", model: new Scripted([call("look", { at: "sea" })], "I saw it"), tools: [look] });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("look", { at: "sky" })], [call("transfer_to_agent", { agentName: "child" })]), tools: [look], subAgents: [child] });
