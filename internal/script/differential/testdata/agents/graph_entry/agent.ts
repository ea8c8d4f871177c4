// > 4
import { Workflow, node } from "@google/adk";

const half = node((_: any, input: number) => input / 2, { name: "half" });

export const rootAgent = new Workflow({
  name: "root",
  dynamicEntry: async (ctx: any, input: any) => {
    let n = Number(input);
    while (n > 1) n = (await ctx.runNode(half, n)).output;
    return `reached ${n}`;
  },
});
