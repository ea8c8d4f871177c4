// > plan a trip
// > to the sea
import { FunctionTool, LlmAgent, Workflow, node } from "@google/adk";
import { Scripted, call } from "../model";

const look = new FunctionTool({ name: "look", description: "Looks.", execute: () => ({ seen: "a map" }) });
const first = node((_: any, input: string) => ({ wish: input }), { name: "first" });
const task = new LlmAgent({
  name: "task",
  mode: "task",
  model: new Scripted("Where to?", [call("look")], [call("finish_task")], [call("finish_task", { result: "planned" })]),
  instruction: "Plan {Trip.wish}.",
  tools: [look],
  outputKey: "plan",
});
const end = node((_: any, input: any) => `got ${JSON.stringify(input)}`, { name: "end" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", first, task, end]] });
