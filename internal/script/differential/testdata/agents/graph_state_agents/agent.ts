// > good
// > bad
// > type
import { LlmAgent, SequentialAgent, Workflow, node } from "@google/adk";
import { z } from "zod";
import { Scripted } from "../model";

const pick = node((ctx: any, input: string) => Object.assign(ctx, { route: input }) && input, { name: "pick" });
const good = new LlmAgent({ name: "good", model: new Scripted("Fine."), outputKey: "mood" });
const bad = new SequentialAgent({
  name: "bad",
  subAgents: [new LlmAgent({ name: "first", model: new Scripted("One."), outputKey: "user:one" }), new LlmAgent({ name: "second", model: new Scripted("Two."), outputKey: "two" })],
});
const type = node(new LlmAgent({ name: "type", model: new Scripted("Many.") , outputKey: "count" }), { stateSchema: z.object({ count: z.number() }) });

export const rootAgent = new Workflow({
  name: "root",
  stateSchema: z.object({ mood: z.string() }),
  edges: [["START", pick], [pick, { good, bad, type }]],
});
