// > go
import { Workflow, node } from "@google/adk";

const broken = node(
  () => {
    throw new Error("no");
  },
  { name: "broken" },
);
const careful = node(
  async (ctx: any) => {
    try {
      await ctx.runNode(broken, "x");
    } catch (error: any) {
      return `${error.name}: ${error.message}; ${error.errorNodePath}; ${error.error.message}`;
    }
  },
  { name: "careful" },
);
const careless = node(async (ctx: any) => (await ctx.runNode(broken, "y")).output, { name: "careless" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", careful, careless]] });
