// Executors of the code that models write. Go runs the loop around them; an
// executor of the author's own is called from there.
import { currentCall, expose, requestStream } from "../guest.js";
import { open } from "./context.js";
import { camelOptions, hasMark, list, refusal, setMark } from "./names.js";

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

/** An executor that Go has. */
class HostedCodeExecutor extends BaseCodeExecutor {
  #options;
  constructor(kind, options, known) {
    super();
    for (const name of Object.keys(options)) {
      if (!known.includes(name)) throw new Error(`${this.constructor.name} has no option ${name}: there are ${known.join(", ")}`);
    }
    this.#options = { kind, ...options };
    this.effect = "pure"; // code reaches nothing outside
  }
  async executeCode({ codeExecutionInput }) {
    const { code, language, inputFiles, args, executionId } = codeExecutionInput;
    const input = { code, language: language === "unspecified" ? "" : language, files: list(inputFiles).map(sentFile), args: sentArgs(args), executionId };
    for await (const result of requestStream("executeCode", { executor: this.#options, input }, currentCall())) {
      return { stdout: result.stdout, stderr: result.stderr, outputFiles: list(result.files).map(fileOf) };
    }
  }
  get hosted() {
    return this.executeCode === HostedCodeExecutor.prototype.executeCode ? this.#options : undefined;
  }
}

/** Runs Python and shell scripts in a container of Docker or Podman. */
export class ContainerCodeExecutor extends HostedCodeExecutor {
  constructor(options) {
    const o = camelOptions(options);
    if (o.dockerPath) throw new Error("dockerPath of a ContainerCodeExecutor is not supported by this runtime: build the image, and name it in image");
    if (o.baseUrl) throw new Error("baseUrl of a ContainerCodeExecutor is not supported by this runtime: set DOCKER_HOST of the server");
    super("container", o, ["image", "program", "timeoutSeconds", "memory", "cpus", "processes", "disk"]);
  }
}

/** Runs JavaScript in a fresh interpreter, without network and files. Only Parley has it. */
export class JavaScriptCodeExecutor extends HostedCodeExecutor {
  codeBlockDelimiters = ["tool_code", "javascript", "js"].map((name) => [`\`\`\`${name}\n`, "\n```"]);
  constructor(options) {
    super("javascript", camelOptions(options), ["timeoutSeconds", "memory"]);
  }
}

const languages = {
  javascript: "javascript", js: "javascript", typescript: "typescript", ts: "typescript", bash: "shell", sh: "shell", shell: "shell", powershell: "powershell", cmd: "cmd",
};

const blockOf = ([open, close], other = "python") => {
  const name = /\w+/.exec(open)?.[0] ?? "";
  return { open, close, language: languages[name] ?? other };
};

const fileOf = ({ name, data, mimeType, text }) => ({ name, content: text ?? data, contentEncoding: text === undefined ? "base64" : "utf-8", mimeType });

/** A file as Go reads it. */
const sentFile = ({ name, content, contentEncoding = "base64", mimeType }) => ({
  name, mimeType, data: contentEncoding === "base64" ? content : Buffer.from(content, contentEncoding).toString("base64"),
});

/** The arguments of a script, which are a list or an object. */
const sentArgs = (args) =>
  Array.isArray(args) ? args.map((value) => ({ name: "", value: String(value) })) : Object.entries(args ?? {}).map(([name, value]) => ({ name, value: String(value) }));

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
    blocks: list(executor.codeBlockDelimiters).map((pair) => blockOf(pair, executor instanceof JavaScriptCodeExecutor ? "javascript" : "python")),
    resultBlock: executor.executionResultDelimiters && blockOf(executor.executionResultDelimiters),
    errorRetries: attempts > 0 ? attempts : -1,
    dataFiles: Boolean(executor.optimizeDataFile),
    stateful: Boolean(executor.stateful),
    effect: executor.effect,
    hosted: executor.hosted,
    fn: expose(async (input, call) => {
      const { invocationContext } = open(call, agent);
      return sentResult(await executor.executeCode({ invocationContext, codeExecutionInput: receivedInput(input) }));
    }, agent),
  };
}
