// > how is the weather?
import { FunctionTool, LlmAgent, Workflow, node } from "@google/adk";
import { Scripted, call } from "../model";

const weather = new FunctionTool({ name: "weather", description: "The weather.", execute: () => ({ sky: "clear" }) });
const ask = new LlmAgent({ name: "ask", model: new Scripted([call("weather")], "It is clear."), tools: [weather], instruction: "Answer." });
const sign = node((_: any, input: string) => `${input} (signed)`, { name: "sign" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", ask, sign]] });
