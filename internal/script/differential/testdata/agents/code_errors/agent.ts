// > calculate
import { BaseCodeExecutor, LlmAgent } from "@google/adk";
import { Scripted } from "../model";

class Failing extends BaseCodeExecutor {
  runs = 0;
  async executeCode(): Promise<any> {
    this.runs += 1;
    return this.runs === 2 ? { stdout: "ok", stderr: "", outputFiles: [] } : { stdout: "", stderr: `NameError ${this.runs}`, outputFiles: [] };
  }
}
const block = "```python\nx\n```";
const model = new Scripted(block, block, block, block, block, "unseen");
export const rootAgent = new LlmAgent({ name: "calculator", model, codeExecutor: new Failing() });
