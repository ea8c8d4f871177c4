// > go
import { LlmAgent } from "@google/adk";
import { Scripted } from "../model";

const note = (name: string) => (context: any) => void context.state.set(name, true);
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted("not reached"),
  beforeAgentCallback: [note("first"), () => ({ role: "model", parts: [{ text: "short cut" }] }), note("third")] as any,
  afterAgentCallback: [note("after")] as any,
});
