// parallel
// > go
import { LlmAgent, ParallelAgent, SequentialAgent } from "@google/adk";
import { Scripted } from "../model";

const one = new LlmAgent({ name: "one", model: new Scripted("from one"), outputKey: "one" });
const two = new LlmAgent({ name: "two", model: new Scripted("from two"), outputKey: "two" });
const last = new LlmAgent({ name: "last", model: new Scripted("both"), instruction: "{one} {two}", includeContents: "none" });
export const rootAgent = new SequentialAgent({ name: "root", subAgents: [new ParallelAgent({ name: "both", subAgents: [one, two] }), last] });
