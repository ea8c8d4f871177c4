// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const note = (name: string) => ({ context }: any) => void context.state.set(name, true);
const look = new FunctionTool({ name: "look", description: "Looks.", execute: (_: any, context?: any) => (context.state.set("looked", 1), { seen: "sea" }) });
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted([call("look")], "I saw the sea"),
  tools: [look],
  beforeAgentCallback: (context: any) => void context.state.set("beforeAgent", true),
  afterAgentCallback: (context: any) => ({ role: "model", parts: [{ text: `after ${context.state.get("looked")}` }] }),
  beforeModelCallback: note("beforeModel") as any,
  afterModelCallback: note("afterModel") as any,
  beforeToolCallback: note("beforeTool") as any,
  afterToolCallback: (({ response, context }: any) => (context.state.set("afterTool", response), { ...response, changed: true })) as any,
});
