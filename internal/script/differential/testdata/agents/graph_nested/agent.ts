// > x
import { Workflow, node } from "@google/adk";

const twice = node((_: any, input: string) => input + input, { name: "twice" });
const mark = node((ctx: any, input: string) => {
  ctx.state.set("marked", input);
  return `${input}!`;
}, { name: "mark" });
const inner = new Workflow({ name: "inner", edges: [["START", twice, mark]] });
const after = node((ctx: any, input: string) => `${input} ${ctx.state.get("marked")}`, { name: "after" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", inner, after]] });
