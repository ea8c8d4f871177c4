// > hello
import { LlmAgent } from "@google/adk";
import { Scripted } from "../model";

// It has neither a description nor an instruction.
export const rootAgent = new LlmAgent({ name: "plain", model: new Scripted("hi") });
