// > hello
// > again
import { LlmAgent } from "@google/adk";
import { Scripted } from "../model";

export const rootAgent = new LlmAgent({ name: "greeter", description: "Greets people.", model: new Scripted("hi", "hi again"), instruction: "Be kind." });
