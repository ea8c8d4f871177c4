// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const values = { text: "a", number: 1, list: [1, 2], nothing: undefined, zero: null, yes: true, object: { a: 1 } };
const tools = Object.entries(values).map(([name, value]) => new FunctionTool({ name, description: name, execute: async () => value as any }));
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted(Object.keys(values).map((name) => call(name)), "done"), tools });
