// > calculate
import { BaseCodeExecutor, LlmAgent } from "@google/adk";
import { Scripted } from "../model";

class Broken extends BaseCodeExecutor {
  async executeCode(): Promise<any> {
    throw new Error("no sandbox answers");
  }
}
const model = new Scripted("```python\nx\n```", "I cannot run code now.");
export const rootAgent = new LlmAgent({ name: "calculator", model, codeExecutor: new Broken() });
