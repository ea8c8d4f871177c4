// > do it
import { LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

export const rootAgent = new LlmAgent({
  name: "root",
  mode: "task",
  model: new Scripted([call("finish_task", { result: "done" })], "That was it."),
  instruction: "Do it.",
});
