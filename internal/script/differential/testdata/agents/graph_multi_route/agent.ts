// > go
// parallel
import { Edge, JoinNode, Workflow, node, START } from "@google/adk";

const choose = node((ctx: any) => {
  ctx.route = [1, true];
  return "chosen";
}, { name: "choose" });
const one = node(() => 1, { name: "one" });
const two = node(() => 2, { name: "two" });
const yes = node(() => "yes", { name: "yes" });
const all = node((_: any, input: any) => [input, "seen"], { name: "all" });
const join = new JoinNode({ name: "join" });

export const rootAgent = new Workflow({
  name: "root",
  edges: [new Edge(START, choose), new Edge(choose, one, 1), new Edge(choose, two, [2, "two"]), new Edge(choose, yes, true), [[one, yes], join, all] as any],
});
