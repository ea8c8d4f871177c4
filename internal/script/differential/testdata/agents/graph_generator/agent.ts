// > go
import { Workflow, createEvent, node } from "@google/adk";

const steps = node(
  async function* (ctx: any, input: string): any {
    ctx.state.set("step", 1);
    yield createEvent({ author: "steps", content: { role: "model", parts: [{ text: "working" }] } });
    ctx.state.set("step", 2);
    yield { parts: [{ text: "half" }] };
    yield `${input} one`;
    ctx.state.set("done", true);
    yield `${input} two`;
  },
  { name: "steps" },
);
const end = node((ctx: any, input: string) => `${input} ${ctx.state.get("step")} ${ctx.state.get("done")}`, { name: "end" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", steps, end]] });
