// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const known = new FunctionTool({ name: "known", description: "Known.", execute: () => "yes" });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("unknown")], "done"), tools: [known] });
