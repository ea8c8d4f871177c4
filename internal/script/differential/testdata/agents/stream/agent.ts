// stream
// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const look = new FunctionTool({ name: "look", description: "Looks.", execute: () => ({ seen: "sea" }) });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("look")], "I saw the sea"), tools: [look], outputKey: "answer" });
