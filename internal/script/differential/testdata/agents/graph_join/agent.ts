// > sea
// parallel
import { JoinNode, Workflow, node } from "@google/adk";

const left = node((_: any, input: string) => `${input} left`, { name: "left" });
const right = node((_: any, input: string) => ({ right: input }), { name: "right" });
const both = new JoinNode({ name: "both" });
const last = node((_: any, input: any) => Object.keys(input), { name: "last" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", [left, right], both, last]] });
