// state {"mood":"calm"}
// > go
import { LlmAgent } from "@google/adk";
import { Scripted } from "../model";

export const rootAgent = new LlmAgent({
  name: "root",
  description: "Is {kept}.",
  model: new Scripted("yes"),
  instruction: async (context: any) => `Be ${context.state.get("mood")}, {not a template}.`,
  generateContentConfig: { temperature: 0.5, maxOutputTokens: 10 },
});
