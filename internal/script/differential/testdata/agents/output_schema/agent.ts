// > go
import { LlmAgent } from "@google/adk";
import { z } from "zod";
import { Scripted } from "../model";

const outputSchema = z.object({ city: z.string(), population: z.number() });
export const rootAgent = new LlmAgent({ name: "root", description: "Counts.", model: new Scripted('{"city":"Oslo","population":700000}'), instruction: "Count.", outputSchema, outputKey: "found" });
