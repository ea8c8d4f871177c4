// > double 2
import { LlmAgent, NodeTool, node } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const double = node((_: any, { n }: any) => ({ twice: 2 * n }), { name: "double", description: "Doubles.", inputSchema: z.object({ n: z.number() }) });
const shout = node((_: any, text: string) => `${text}!`, { name: "shout", inputSchema: z.string() });

export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted([call("double", { n: 2 })], [call("loud", { request: "hey" })], "It is 4."),
  tools: [double as any, new NodeTool(shout as any, "loud", "Shouts.")],
});
