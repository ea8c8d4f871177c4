// > go
// parallel
import { FunctionNode, Workflow, node } from "@google/adk";

const a = node(() => "a", { name: "a" });
const b = node(() => "b", { name: "b" });
const gather = new FunctionNode(
  "gather",
  (ctx: any, input: any) => {
    const seen = [...(ctx.state.get("seen") ?? []), input];
    ctx.state.set("seen", seen);
    return seen.length === 2 ? seen.sort().join("") : undefined;
  },
  { waitForOutput: true },
);
const end = node((_: any, input: string) => `${input}!`, { name: "end" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", a, gather, end], [a, b, gather]] });
