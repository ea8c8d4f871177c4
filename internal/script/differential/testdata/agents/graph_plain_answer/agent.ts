// > publish
// > yes, please
import { RequestInput, Workflow, node } from "@google/adk";

const approve = node(
  (ctx: any) => (ctx.resumeInputs.ok === undefined ? new RequestInput({ interruptId: "ok", message: "May I?" }) : `said ${ctx.resumeInputs.ok}`),
  { name: "approve", rerunOnResume: true },
);

export const rootAgent = new Workflow({ name: "root", edges: [["START", approve]] });
