// > 12
// > many
import { Workflow, node } from "@google/adk";
import { z } from "zod";

const read = node((_: any, input: string) => ({ amount: Number(input) || input }), { name: "read" });
const pay = node((_: any, { amount }: any) => ({ paid: amount, currency: "EUR" }), {
  name: "pay",
  inputSchema: z.object({ amount: z.number() }),
  outputSchema: z.object({ paid: z.number() }),
});

export const rootAgent = new Workflow({ name: "root", edges: [["START", read, pay]] });
