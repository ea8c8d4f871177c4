// > a story about the sea
// > and another one
import { LlmAgent, Workflow, node } from "@google/adk";
import { z } from "zod";
import { Scripted } from "../model";

const outline = new LlmAgent({
  name: "outline",
  model: new Scripted('{"title":"Sea","parts":2}', '{"title":"Sky","parts":1}'),
  instruction: "Write an outline.",
  outputSchema: z.object({ title: z.string(), parts: z.number() }),
});
const pick = node((_: any, input: any) => ({ ...input, style: "short" }), { name: "pick" });
const write = new LlmAgent({ name: "write", model: new Scripted("The sea was calm.", "The sky was blue."), instruction: "Write it.", outputKey: "story" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", outline, pick, write]] });
