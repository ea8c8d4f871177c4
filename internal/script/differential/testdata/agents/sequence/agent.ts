// > go
import { FunctionTool, LlmAgent, SequentialAgent } from "@google/adk";
import { Scripted, call } from "../model";

const look = new FunctionTool({ name: "look", description: "Looks.", execute: () => ({ seen: "sea" }) });
const first = new LlmAgent({ name: "first", model: new Scripted([call("look")], "the sea"), tools: [look], outputKey: "seen" });
const second = new LlmAgent({ name: "second", model: new Scripted("I heard of it"), instruction: "Use {seen}." });
export const rootAgent = new SequentialAgent({ name: "root", subAgents: [first, second] });
