// > hello
import { Workflow } from "@google/adk";

async function shout(_: any, input: string) {
  return input.toUpperCase();
}
function count(ctx: any, input: string) {
  ctx.state.set("length", input.length);
  return { word: input, length: input.length };
}
function nothing() {}
const last = (_: any, input: any) => `the input is ${JSON.stringify(input)}`;

export const rootAgent = new Workflow({ name: "root", edges: [["START", shout, count], [count, nothing], [nothing, last]] });
