// > go
import { Workflow, node } from "@google/adk";

const draft = node(
  (ctx: any) => {
    const n = (ctx.state.get("drafts") ?? 0) + 1;
    ctx.state.set("drafts", n);
    return `draft ${n}`;
  },
  { name: "draft" },
);
const review = node(
  (ctx: any, input: string) => {
    ctx.route = input === "draft 3" ? "good" : "again";
    return input;
  },
  { name: "review" },
);
const publish = node((_: any, input: string) => `published ${input}`, { name: "publish" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", draft, review, { again: draft, good: publish }]] });
