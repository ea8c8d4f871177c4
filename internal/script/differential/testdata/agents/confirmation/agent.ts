// > pay
// > adk_request_confirmation returned {"confirmed":true}
import { FunctionTool, LlmAgent } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const pay = new FunctionTool({ name: "pay", description: "Pays.", parameters: z.object({ amount: z.number() }), requireConfirmation: true, execute: ({ amount }) => ({ paid: amount }) });
export const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("pay", { amount: 5 })], "paid"), tools: [pay] });
