// > both
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const tool = (name: string) => new FunctionTool({ name, description: `Does ${name}.`, execute: (_: any, context?: any) => (context.state.set(name, true), { done: name }) });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("one"), { text: "and" }, call("two")], "both done"), tools: [tool("one"), tool("two")] });
