// > go
import { LlmAgent, Workflow, node } from "@google/adk";
import { Scripted } from "../model";

const quiet = node(new LlmAgent({ name: "quiet", model: new Scripted("a secret"), includeContents: "default" }), { isolationScope: "alone" });
const open = new LlmAgent({ name: "open", model: new Scripted("in the open"), includeContents: "default" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", quiet, open]] });
