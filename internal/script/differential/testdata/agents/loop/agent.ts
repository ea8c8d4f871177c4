// > go
import { EXIT_LOOP, LlmAgent, LoopAgent } from "@google/adk";
import { Scripted, call } from "../model";

const writer = new LlmAgent({ name: "writer", model: new Scripted("draft one", "draft two"), outputKey: "draft" });
const critic = new LlmAgent({ name: "critic", model: new Scripted("not good", [call("exit_loop")], "left"), instruction: "Judge {draft}", tools: [EXIT_LOOP] });
export const rootAgent = new LoopAgent({ name: "root", maxIterations: 5, subAgents: [writer, critic] });
