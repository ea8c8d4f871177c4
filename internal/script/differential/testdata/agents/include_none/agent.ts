// > one
// > two
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const look = new FunctionTool({ name: "look", description: "Looks.", execute: () => ({ seen: "sea" }) });
export const rootAgent = new LlmAgent({ name: "root", includeContents: "none", model: new Scripted("first", [call("look")], "second"), tools: [look] });
