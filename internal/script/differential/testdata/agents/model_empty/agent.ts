// > go
import { LlmAgent } from "@google/adk";
import { Scripted } from "../model";

export const rootAgent = new LlmAgent({ name: "root", model: new Scripted({ content: { role: "model", parts: [] } }), outputKey: "answer" });
