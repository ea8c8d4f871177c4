// Nodes as tools, and the tool with which a task ends.
import { FINISH_TASK_SUCCESS_RESULT, FINISH_TASK_TOOL_NAME } from "./helpers.js";
import { setMark } from "./names.js";
import { appendInstructions } from "./requests.js";
import { toSchema } from "./schema.js";
import { BaseTool } from "./tools.js";
import { FunctionNode, Workflow } from "./workflow.js";

/** A node that a model calls. It runs as an agent does that is a tool: in a
 * conversation of its own. */
export class NodeTool extends BaseTool {
  constructor(node, name, description) {
    if (!node.inputSchema) throw new Error(`The node "${node.name}" needs an inputSchema to be a NodeTool.`);
    super({ name: name ?? node.name, description: description || node.description || `Executes the node: ${node.name}` });
    this.node = node;
    this.isLongRunning = true;
    const schema = toSchema(node.inputSchema);
    const whole = schema.type === "object";
    this.parametersJsonSchema = whole ? schema : { type: "object", properties: { request: { type: "string" } }, required: ["request"] };
    const read = new FunctionNode(`${node.name}_input`, (_, text) => {
      const args = JSON.parse(text);
      return whole ? args : args.request;
    });
    this.agent = new Workflow({ name: `${node.name}_tool`, description: this.description, edges: [["START", read, node]] });
    this.wholeArguments = true;
    setMark(this, "agentTool");
  }
  _getDeclaration() {
    return { name: this.name, description: this.description, parametersJsonSchema: this.parametersJsonSchema };
  }
}

const summary = {
  type: "OBJECT",
  properties: { result: { type: "STRING", description: "A brief summary of what the agent accomplished." } },
  required: ["result"],
};

/** With which a model says that a task is done. Agents in task mode have one already. */
export class FinishTaskTool extends BaseTool {
  constructor(outputSchema) {
    const more = outputSchema ? " Pass the required output data in the parameters." : "";
    super({ name: FINISH_TASK_TOOL_NAME, description: `Signal that this agent has completed its delegated task. Call this when you have finished your delegated task.${more}` });
    this.outputSchema = outputSchema ?? summary;
    this.wrapperKey = String(this.outputSchema.type).toUpperCase() === "OBJECT" ? undefined : "result";
  }
  _getDeclaration() {
    const { name, description, wrapperKey: key, outputSchema } = this;
    return { name, description, parameters: key ? { type: "OBJECT", properties: { [key]: outputSchema }, required: [key] } : outputSchema };
  }
  async processLlmRequest(request) {
    await super.processLlmRequest(request);
    appendInstructions(request.llmRequest, [
      "Do NOT call `finish_task` prematurely. Use your available tools to fully complete every aspect of the task first. If the task is unclear, ask the user for clarification before proceeding. Once the task is fully complete, call `finish_task` by itself with no accompanying text output.",
    ]);
  }
  extractOutput(args) {
    return this.wrapperKey ? args[this.wrapperKey] : args;
  }
  async runAsync({ args }) {
    const { wrapperKey: key, outputSchema } = this;
    const missing = (key ? [key] : (outputSchema.required ?? [])).filter((name) => args[name] === undefined || (key && args[name] === null));
    if (missing.length === 0) return FINISH_TASK_SUCCESS_RESULT;
    return {
      error: `Invoking \`${this.name}()\` failed due to missing required parameters: ${missing.join(", ")}. You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters with correct types.`,
    };
  }
}
