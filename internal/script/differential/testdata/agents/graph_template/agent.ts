// > 12
// state {"currency":"EUR"}
import { LlmAgent, Workflow, node } from "@google/adk";
import { Scripted } from "../model";

const read = node((_: any, input: string) => ({ amount: Number(input), lines: ["tea"] }), { name: "read" });
const confirm = new LlmAgent({
  name: "confirm",
  model: new Scripted("Done."),
  instruction: "Confirm {Order.amount} {currency} for {{ Order.lines }}, {Order.note?}, {Order.other}, {not.a.place}.",
});
const bye = new LlmAgent({ name: "bye", model: new Scripted("Bye."), instruction: "Say goodbye, not {Order.amount}." });

export const rootAgent = new Workflow({ name: "root", edges: [["START", read, confirm, bye]] });
