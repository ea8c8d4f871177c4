// > bug
// > praise
// > other
import { DEFAULT_ROUTE, START, Workflow, createEvent, node } from "@google/adk";

const classify = node(
  (ctx: any, input: string) => {
    if (input === "bug") return createEvent({ output: "a bug", route: "bug" } as any);
    ctx.route = input;
    return input;
  },
  { name: "classify" },
);
const fix = node((_: any, input: any) => `fix ${input}`, { name: "fix" });
const thank = node((_: any, input: any) => `thanks for ${input}`, { name: "thank" });
const otherwise = node((_: any, input: any) => `what is ${input}?`, { name: "otherwise" });

export const rootAgent = new Workflow({ name: "root", edges: [[START, classify, { bug: fix, praise: thank, [DEFAULT_ROUTE]: otherwise }] as any] });
