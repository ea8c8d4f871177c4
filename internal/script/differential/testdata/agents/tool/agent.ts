// > what is the weather?
import { FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const weather = new FunctionTool({
  name: "weather",
  description: "Returns the weather.",
  parameters: z.object({ city: z.string().describe("The city."), days: z.number().int().optional(), unit: z.enum(["C", "F"]).default("C") }),
  execute: ({ city, unit }) => ({ city, unit, degrees: 20 }),
});
export const rootAgent = new LlmAgent({ name: "weatherman", model: new Scripted([call("weather", { city: "Oslo" })], "20 degrees"), tools: [weather], outputKey: "answer" });
