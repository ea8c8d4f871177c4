// > go
import { LlmAgent, Workflow, node } from "@google/adk";
import { Scripted } from "../model";

const writer = new LlmAgent({ name: "writer", model: new Scripted("a poem") });
const manager = node(async (ctx: any, input: string) => (await ctx.runNode(writer, `write: ${input}`, { useAsOutput: true })).output, { name: "manager", rerunOnResume: true });
const end = node((_: any, input: string) => `${input}.`, { name: "end" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", manager, end]] });
