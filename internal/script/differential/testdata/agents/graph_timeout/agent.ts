// > go
import { Workflow, node } from "@google/adk";

const slow = node(() => new Promise(() => {}), { name: "slow", timeout: 0.05 });

export const rootAgent = new Workflow({ name: "root", edges: [["START", slow]] });
