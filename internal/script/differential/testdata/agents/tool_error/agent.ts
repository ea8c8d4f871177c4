// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const bad = new FunctionTool({ name: "bad", description: "Fails.", execute: () => { throw new Error("boom"); } });
const strict = new FunctionTool({ name: "strict", description: "Wants a number.", parameters: z.object({ n: z.number() }), execute: ({ n }) => n });
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted([call("bad")], [call("strict", { n: "x" })], "done"),
  tools: [bad, strict],
  afterToolCallback: ({ response }) => ((response as any)?.error ? { seen: (response as any).error } : undefined) as any,
});
