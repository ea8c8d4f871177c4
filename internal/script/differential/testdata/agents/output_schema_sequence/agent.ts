// > Paris
import { LlmAgent, SequentialAgent } from "@google/adk";
import { z } from "zod";
import { Scripted } from "../model";

const place = z.object({ city: z.string(), people: z.number().int() });
export const rootAgent = new SequentialAgent({
  name: "chain",
  subAgents: [
    new LlmAgent({ name: "reader", model: new Scripted('{"city":"Paris","people":2}'), outputSchema: place, outputKey: "place" }),
    new LlmAgent({ name: "teller", model: new Scripted("two in Paris"), instruction: "Tell of {place}." }),
  ],
});
