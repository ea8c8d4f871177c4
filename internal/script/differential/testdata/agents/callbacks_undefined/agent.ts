// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const look = new FunctionTool({ name: "look", description: "Looks.", execute: () => ({ seen: "sea" }) });
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted([call("look")], "done"),
  tools: [look],
  afterToolCallback: (async ({ response }: any) => (response.seen === "sea" ? undefined : response)) as any,
  afterModelCallback: [() => undefined, () => undefined] as any,
});
