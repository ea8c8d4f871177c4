// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const add = new FunctionTool({ name: "add", description: "Adds.", execute: () => ({ sum: "not reached" }) });
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted([call("add", { a: 1 })], "done"),
  tools: [add],
  beforeToolCallback: (({ args }: any) => ({ sum: args.a + 1 })) as any,
});
