// > go
// > again
import { LlmAgent, SequentialAgent } from "@google/adk";
import { Scripted } from "../model";

const first = new LlmAgent({ name: "first", model: new Scripted(new Error("boom"), new Error('{"error":{"code":429,"message":"too many"}}')), outputKey: "first" });
const second = new LlmAgent({ name: "second", model: new Scripted("the second answers", "again") });
export const rootAgent = new SequentialAgent({ name: "root", subAgents: [first, second] });
