// > 12
// > many
import { Workflow, node } from "@google/adk";
import { z } from "zod";

const read = node(
  (ctx: any, input: string) => {
    ctx.state.set("user:last", input);
    ctx.state.set("amount", Number(input) || 0);
    return input;
  },
  { name: "read" },
);
const pay = node(
  (ctx: any, input: string) => {
    ctx.state.set(input === "12" ? "paid" : "lost", true);
    return "done";
  },
  { name: "pay", stateSchema: z.object({ paid: z.boolean() }) },
);

export const rootAgent = new Workflow({ name: "root", stateSchema: z.object({ amount: z.number() }), edges: [["START", read, pay]] });
