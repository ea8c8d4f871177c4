// > calculate
// > thank you
import { BuiltInCodeExecutor, LlmAgent } from "@google/adk";
import { Scripted } from "../model";

class Gemini extends Scripted {
  constructor(...steps: any[]) {
    super(...steps);
    (this as any).model = "gemini-2.5-flash";
  }
}
const run = [
  { text: "I calculate." },
  { executableCode: { code: "print(6 * 7)", language: "PYTHON" } },
  { codeExecutionResult: { outcome: "OUTCOME_OK", output: "42\n" } },
  { text: "It is 42." },
];
const model = new Gemini(run, "```python\nprint(1)\n```");
export const rootAgent = new LlmAgent({ name: "calculator", model, codeExecutor: new BuiltInCodeExecutor() });
