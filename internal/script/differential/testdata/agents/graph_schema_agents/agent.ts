// > {"city":"Rome","note":"soon"}
// > {"note":"later"}
// > {"city":"Rome","days":"two"}
import { FunctionTool, LlmAgent, Workflow, node } from "@google/adk";
import { z } from "zod";
import { Scripted } from "../model";

const read = node((_: any, input: string) => JSON.parse(input), { name: "read" });
const city = z.object({ city: z.string() });
const asks = new LlmAgent({ name: "asks", model: new Scripted("Sunny.", "Rainy.", "Windy."), inputSchema: z.object({ note: z.string().default("none") }) });
const again = node((ctx: any) => ctx.session.events.findLast((one: any) => one.nodeInfo?.path === "root.read").output, { name: "again" });
const plans = node(new LlmAgent({ name: "plans", model: new Scripted("Go.", "Stay.") }), { inputSchema: city });
const trip = new Workflow({
  name: "trip",
  inputSchema: z.object({ days: z.number().default(1) }),
  edges: [["START", node((_: any, input: any) => input, { name: "days" })]],
});
const more = node((ctx: any) => ctx.session.events.findLast((one: any) => one.nodeInfo?.path === "root.read").output, { name: "more" });
const book = new FunctionTool({ name: "book", description: "Books.", parameters: z.object({ city: z.string() }), execute: ({ city }) => ({ booked: city, at: 5 }) });

export const rootAgent = new Workflow({
  name: "root",
  edges: [["START", read, asks, again, plans, more, trip, node((_: any) => ({ city: "Rome" }), { name: "back" }), node(book, { outputSchema: z.object({ booked: z.string() }) })]],
});
