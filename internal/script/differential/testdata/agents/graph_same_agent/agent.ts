// > a text
import { LlmAgent, Workflow, node } from "@google/adk";
import { Scripted } from "../model";

const polish = new LlmAgent({ name: "polish", model: new Scripted("once", "twice"), instruction: "Polish it." });
const inner = new Workflow({ name: "inner", edges: [["START", polish, node((_: any, input: string) => `${input}!`, { name: "mark" })]] });

export const rootAgent = new Workflow({ name: "root", edges: [["START", polish, inner, node((_: any, input: string) => `end ${input}`, { name: "end" })]] });
