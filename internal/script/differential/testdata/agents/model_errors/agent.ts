// > go
// > again
import { LlmAgent } from "@google/adk";
import { Scripted } from "../model";

export const rootAgent = new LlmAgent({ name: "root", model: new Scripted({ errorCode: "SAFETY", errorMessage: "unsafe" }, "fine"), outputKey: "answer" });
