// > 3
import { Workflow, node } from "@google/adk";

const square = node((_: any, input: number) => input * input, { name: "square" });
const sum = node(
  async (ctx: any, input: string) => {
    let total = 0;
    for (let i = 1; i <= Number(input); i++) total += (await ctx.runNode(square, i)).output;
    const shown = (await ctx.runNode(node((_: any, n: number) => `= ${n}`, { name: "shown" }), total, { runId: "last" })).output;
    return { total, shown };
  },
  { name: "sum", rerunOnResume: true },
);

export const rootAgent = new Workflow({ name: "root", edges: [["START", sum]] });
