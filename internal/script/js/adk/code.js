// Executors of the code that models write. Go runs the loop around them; an
// executor of the author's own is called from there.
import { expose } from "../guest.js";
import { open } from "./context.js";
import { hasMark, list, refusal, setMark } from "./names.js";

export class BaseCodeExecutor {
  optimizeDataFile = false;
  stateful = false;
  errorRetryAttempts = 2;
  codeBlockDelimiters = ["tool_code", "python", "javascript", "typescript", "bash", "sh"].map((name) => [`\`\`\`${name}\n`, "\n```"]);
  executionResultDelimiters = ["```tool_output\n", "\n```"];
  constructor() {
    setMark(this, "baseCodeExecutor");
  }
  async executeCode() {
    throw new Error(`${this.constructor.name} has no executeCode`);
  }
}

/** Has Gemini run the code. */
export class BuiltInCodeExecutor extends BaseCodeExecutor {
  constructor() {
    super();
    setMark(this, "builtInCodeExecutor");
  }
  async executeCode() {
    return { stdout: "", stderr: "", outputFiles: [] };
  }
  processLlmRequest(llmRequest) {
    if (!/gemini-(?:[2-9]|\d\d)/.test(String(llmRequest.model))) throw new Error(`Gemini code execution tool is not supported for model ${llmRequest.model}`);
    llmRequest.config ??= {};
    llmRequest.config.tools = [...(llmRequest.config.tools ?? []), { codeExecution: {} }];
  }
}

const languages = {
  javascript: "javascript", js: "javascript", typescript: "typescript", ts: "typescript", bash: "shell", sh: "shell", shell: "shell", powershell: "powershell", cmd: "cmd",
};

const blockOf = ([open, close]) => {
  const name = /\w+/.exec(open)?.[0] ?? "";
  return { open, close, language: languages[name] ?? "python" };
};

const fileOf = ({ name, data, mimeType, text }) => ({ name, content: text ?? data, contentEncoding: text === undefined ? "base64" : "utf-8", mimeType });

/** A file as Go reads it. */
const sentFile = ({ name, content, contentEncoding = "base64", mimeType }) => ({
  name, mimeType, data: contentEncoding === "base64" ? content : Buffer.from(content, contentEncoding).toString("base64"),
});

const receivedInput = ({ code, language, files, executionId }) => ({ code, language: language || "unspecified", inputFiles: list(files).map(fileOf), executionId });

const sentResult = (result) => ({ stdout: String(result?.stdout ?? ""), stderr: String(result?.stderr ?? ""), files: list(result?.outputFiles).map(sentFile) });

/** The executor of an agent as Go reads it. */
export function describeCode(agent) {
  const executor = agent.codeExecutor;
  if (executor === undefined || executor === null) return undefined;
  if (refusal(executor)) throw new Error(refusal(executor));
  if (hasMark(executor, "builtInCodeExecutor")) return { builtIn: true };
  if (typeof executor.executeCode !== "function") throw new Error(`The codeExecutor of the agent "${agent.name}" has no executeCode: extend BaseCodeExecutor`);
  const attempts = executor.errorRetryAttempts ?? 2;
  return {
    blocks: list(executor.codeBlockDelimiters).map(blockOf),
    resultBlock: executor.executionResultDelimiters && blockOf(executor.executionResultDelimiters),
    errorRetries: attempts > 0 ? attempts : -1,
    dataFiles: Boolean(executor.optimizeDataFile),
    stateful: Boolean(executor.stateful),
    effect: executor.effect,
    fn: expose(async (input, call) => {
      const { invocationContext } = open(call, agent);
      return sentResult(await executor.executeCode({ invocationContext, codeExecutionInput: receivedInput(input) }));
    }, agent),
  };
}
