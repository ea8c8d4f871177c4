// > calculate
// > thank you
import { BaseCodeExecutor, LlmAgent } from "@google/adk";
import { Scripted } from "../model";

class Echo extends BaseCodeExecutor {
  async executeCode({ codeExecutionInput: { code, language, inputFiles }, invocationContext }: any): Promise<any> {
    return { stdout: `${invocationContext.agent.name} ran ${code} in ${language} with ${inputFiles.length} files`, stderr: "", outputFiles: [] };
  }
}
const model = new Scripted("I calculate.\n```python\nprint(6 * 7)\n```\nIt is 41.", "```tool_code\nprint(1)\n```", "It is 42.", "You are welcome.");
export const rootAgent = new LlmAgent({ name: "calculator", model, codeExecutor: new Echo(), outputKey: "answer" });
