// > hello
// > again
import { LlmAgent, Workflow, node } from "@google/adk";
import { Scripted } from "../model";

const note = node((_: any, input: string) => `the user says ${input}`, { name: "note" });
const reply = new LlmAgent({ name: "reply", model: new Scripted("Hello!", "Hello again!"), includeContents: "default" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", note, reply]] });
