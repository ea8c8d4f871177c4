import { zodToJsonSchema } from "zod-to-json-schema";
import { z } from "zod/v3";
import { agent } from "./lib/agent.js";

const run = () => zodToJsonSchema(z.object({ a: z.string().describe("A"), b: z.union([z.number(), z.null()]) }), "doc");

export const rootAgent = agent(run);
