// > a b c
// parallel
import { ParallelWorker, Workflow, node } from "@google/adk";

const split = node((_: any, input: string) => input.split(" "), { name: "split" });
const upper = node((_: any, input: string) => input.toUpperCase(), { name: "upper" });
const join = node((_: any, input: string[]) => input.join("+"), { name: "join" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", split, new ParallelWorker(upper, { maxParallelWorkers: 2 }), join]] });
