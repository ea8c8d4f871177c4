// > add
import { LlmAgent, Workflow, node } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const task = new LlmAgent({
  name: "task",
  mode: "task",
  model: new Scripted([call("finish_task", { name: "x" })], [call("finish_task", { name: "x", sum: 3 })]),
  instruction: "Add.",
  outputSchema: z.object({ name: z.string(), sum: z.number() }),
});
const end = node((_: any, input: any) => `${input.name} is ${input.sum}`, { name: "end" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", task, end]] });
