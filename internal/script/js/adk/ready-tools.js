// Tools that are ready to use: examples for the model, pages of the web, resources
// of MCP servers, and a way to make room.
import { currentCall, requestStream } from "../guest.js";
import { list } from "./names.js";
import { appendInstructions } from "./requests.js";
import { BaseTool, FunctionTool } from "./tools.js";

const textOf = (content) =>
  list(content?.parts)
    .map((p) => p.text ?? (p.functionCall ? `calls ${p.functionCall.name}(${JSON.stringify(p.functionCall.args ?? {})})` : p.functionResponse ? `gets ${JSON.stringify(p.functionResponse.response)}` : ""))
    .join("");

/** Shows the model what good answers look like. */
export class ExampleTool extends BaseTool {
  constructor(examples) {
    super({ name: "example_tool", description: "Examples of good answers." });
    this.examples = examples;
  }
  _getDeclaration() {
    return undefined;
  }
  async processLlmRequest({ toolContext, llmRequest }) {
    const question = textOf(toolContext.userContent);
    const all = typeof this.examples?.getExamples === "function" ? await this.examples.getExamples(question) : list(this.examples);
    if (all.length === 0) return;
    const shown = all.map(({ input, output }, i) => [`Example ${i + 1}`, `[user] ${textOf(input)}`, ...list(output).map((content) => `[${content.role ?? "model"}] ${textOf(content)}`)].join("\n"));
    appendInstructions(llmRequest, [`These examples show how such questions are answered well.\n\n${shown.join("\n\n")}`]);
  }
}

/** The text of a page of the public internet, without its markup, or why there is
 * none. */
export async function loadWebPage(url, { timeoutMs } = {}) {
  for await (const text of requestStream("page", { url: String(url), timeoutMs: Number(timeoutMs) || 0 }, currentCall())) return text;
  return "";
}

export class LoadWebPageTool extends FunctionTool {
  constructor() {
    super({
      name: "load_web_page",
      description: "Fetches the content of a web page as text.",
      parameters: { type: "OBJECT", properties: { url: { type: "STRING", description: "The address of the page." } }, required: ["url"] },
      execute: ({ url }) => loadWebPage(url),
    });
  }
}

export const LOAD_WEB_PAGE = new LoadWebPageTool();
export const loadWebPageTool = LOAD_WEB_PAGE;

/** With which a model asks for a summary; see AgentControlledContextCompactor. */
export class ConsolidateContextTool extends FunctionTool {
  constructor() {
    super({
      name: "consolidate_context",
      description: "Has everything so far summed up, so that there is room for more. Call it when a part of the work is done and its details are not needed any more.",
      effect: "pure",
      parameters: { type: "OBJECT", properties: { detail: { type: "STRING", description: "What the summary must not leave out." } } },
      execute: ({ detail }, { state }) => {
        state.set("temp:consolidate_context", true);
        state.set("temp:consolidate_context_detail", detail ?? null);
        return { status: "success", message: "The conversation will be summed up." };
      },
    });
  }
}

const partOf = ({ text, blob, mimeType = "application/octet-stream" }) => (blob === undefined ? { text: text ?? "" } : { inlineData: { data: blob, mimeType } });

/** With which a model reads the resources of an MCP server: they are in the
 * request after the call, and not in the session. */
export class LoadMcpResourceTool extends FunctionTool {
  constructor(mcpToolset) {
    super({
      name: "load_mcp_resource",
      description: "Reads resources of the MCP server. Call it when you need what is in them.",
      effect: "pure",
      parameters: { type: "OBJECT", properties: { resource_names: { type: "ARRAY", items: { type: "STRING" }, description: "The names of the resources." } } },
      execute: ({ resource_names = [] }) => ({ resource_names, status: "The contents are in this request only. To read them again, call the tool again." }),
    });
    this.mcpToolset = mcpToolset;
  }
  async processLlmRequest({ llmRequest }) {
    const last = list(llmRequest.contents.at(-1)?.parts);
    const asked = last.flatMap(({ functionResponse: r }) => (r?.name === this.name ? list(r.response?.resource_names) : []));
    try {
      const names = await this.mcpToolset.listResources();
      if (names.length > 0) {
        appendInstructions(llmRequest, [`The MCP server has these resources:\n${JSON.stringify(names)}\n\nBefore you answer a question about one of them, read it with \`${this.name}\`.`]);
      }
      for (const name of asked) {
        for (const content of await this.mcpToolset.readResource(name)) {
          llmRequest.contents.push({ role: "user", parts: [{ text: `Resource ${name} is:` }, partOf(content)] });
        }
      }
    } catch (error) {
      console.warn(`the resources of the MCP server were not read: ${error}`);
    }
  }
}
