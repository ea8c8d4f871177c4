// > plot
import { BaseCodeExecutor, LlmAgent } from "@google/adk";
import { Scripted } from "../model";

class Plotter extends BaseCodeExecutor {
  codeBlockDelimiters: [string, string][] = [["<run>", "</run>"]];
  async executeCode({ codeExecutionInput: { code } }: any): Promise<any> {
    return { stdout: code, stderr: "", outputFiles: [{ name: "plot.png", content: "AAEC", mimeType: "image/png" }] };
  }
}
const model = new Scripted("```python\nnot this\n``` but <run>plot()</run>", "There it is.");
export const rootAgent = new LlmAgent({ name: "plotter", model, codeExecutor: new Plotter() });
