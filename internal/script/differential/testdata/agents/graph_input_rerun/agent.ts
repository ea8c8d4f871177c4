// > publish
// > adk_request_input returned {"result":"first"}
// > adk_request_input returned {"name":"second"}
import { RequestInput, Workflow, node } from "@google/adk";

const talk = node(
  (ctx: any, input: string) => {
    if (ctx.resumeInputs.one === undefined) return new RequestInput({ interruptId: "one", message: "One?" });
    if (ctx.resumeInputs.two === undefined) return new RequestInput({ interruptId: "two", message: "Two?" });
    return { input, one: ctx.resumeInputs.one, two: ctx.resumeInputs.two };
  },
  { name: "talk", rerunOnResume: true },
);
const end = node((_: any, input: any) => JSON.stringify(input), { name: "end" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", talk, end]] });
