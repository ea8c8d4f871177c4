// > publish
// > adk_request_input returned {"result":"yes"}
import { RequestInput, Workflow, node } from "@google/adk";

const prepare = node((_: any, input: string) => `${input} it`, { name: "prepare" });
const approve = node((_: any, input: string) => new RequestInput({ interruptId: "approve", message: "May I?", payload: { text: input } }), { name: "approve" });
const act = node((_: any, input: any) => `the answer is ${JSON.stringify(input)}`, { name: "act" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", prepare, approve, act]] });
