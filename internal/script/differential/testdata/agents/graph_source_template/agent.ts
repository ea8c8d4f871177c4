// > 12
import { LlmAgent, Workflow, node } from "@google/adk";
import { Scripted } from "../model";

const order = node((_: any, input: string) => ({ amount: Number(input), lines: ["tea"] }), { name: "order" });
const note = node(() => ({ text: "soon" }), { name: "note" });
const confirm = new LlmAgent({
  name: "confirm",
  model: new Scripted("Done."),
  instruction: "Confirm <Order.amount from order> of < Order.lines from order >: {Note.text}, <Order.other from order>, <Order.amount from other>, <b>.",
});

export const rootAgent = new Workflow({ name: "root", edges: [["START", order, note, confirm]] });
