// > go
import { FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const count = new FunctionTool({ name: "count", description: "Counts.", parameters: z.object({ city: z.string() }), execute: () => 700000 });
const outputSchema = z.object({ city: z.string(), population: z.number() });
export const rootAgent = new LlmAgent({
  name: "root",
  description: "Counts.",
  model: new Scripted([call("count", { city: "Oslo" })], [call("set_model_response", { city: "Oslo", population: 700000 })]),
  instruction: "Count.",
  tools: [count],
  outputSchema,
  outputKey: "found",
});
