// > {"a":1,"b":2}
import { FunctionTool, ToolNode, Workflow, node } from "@google/adk";
import { z } from "zod";

const add = new FunctionTool({
  name: "add",
  description: "Adds.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }, context: any) => {
    context.state.set("sum", a + b);
    return { sum: a + b };
  },
});
const show = node((_: any, input: any) => `the sum is ${input.sum}`, { name: "show" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", new ToolNode(add, { name: "adding" }), show]] });
