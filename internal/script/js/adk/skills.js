// Skills as tools of a model: it sees their names and descriptions, and loads what
// it needs.
import path from "../node/path.cjs";
import { list, setMark } from "./names.js";
import { appendInstructions } from "./requests.js";
import { BaseTool, BaseToolset, isBaseTool, isBaseToolset } from "./tools.js";

const guide = `You have skills: instructions for special tasks, with files. Work with them through their tools only.

- Before you do something that a skill is for, call load_skill with its name, and then follow its instructions step by step.
- Read a file that they mention, in references/, assets/ or scripts/, with load_skill_resource.
- Run a script in scripts/ with run_skill_script.`;

const more = "When none of these skills fits, look for another one with search_skills.";

const escaped = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#039;" };
const escape = (text) => String(text).replace(/[&<>"']/g, (c) => escaped[c]);

const listed = (skills) =>
  [
    "<available_skills>",
    ...Object.values(skills).flatMap(({ frontmatter: { name, description } }) => ["  <skill>", `    <name>${escape(name)}</name>`, `    <description>${escape(description)}</description>`, "  </skill>"]),
    "</available_skills>",
  ].join("\n");

const activated = (agent) => `_adk_activated_skill_${agent}`;

/** A tool for the skills of a set. */
class SkillTool extends BaseTool {
  constructor(toolset, name, description, properties, required, effect = "pure") {
    super({ name, description, effect });
    Object.defineProperty(this, "toolset", { value: toolset });
    Object.defineProperty(this, "declared", { value: { type: "OBJECT", properties, ...(required && { required }) } });
  }
  _getDeclaration() {
    return { name: this.name, description: this.description, parameters: this.declared };
  }
  failed(error, code) {
    return { error, error_code: code };
  }
  /** The skill of a name, or the result that says that there is none. */
  async find(name, toolContext) {
    try {
      const skill = await this.toolset.getOrFetchSkill(name, toolContext.invocationId);
      return skill ? { skill } : { failure: this.failed(`Skill '${name}' not found.`, "SKILL_NOT_FOUND") };
    } catch (error) {
      return { failure: this.failed(`Failed to fetch skill '${name}' from registry: ${error?.message || error}`, "REGISTRY_ERROR") };
    }
  }
}

const text = (description) => ({ type: "STRING", description });

export class ListSkillsTool extends SkillTool {
  constructor(toolset) {
    super(toolset, "list_skills", "Lists the names and descriptions of all skills.", {});
  }
  async runAsync() {
    return listed(this.toolset.skills);
  }
}

export class LoadSkillTool extends SkillTool {
  constructor(toolset) {
    super(toolset, "load_skill", "Loads the instructions of a skill.", { name: text("The name of the skill.") }, ["name"]);
  }
  async runAsync({ args: { name }, toolContext }) {
    if (!name) return this.failed("Skill name is required.", "MISSING_SKILL_NAME");
    const { skill, failure } = await this.find(name, toolContext);
    if (failure) return failure;
    const key = activated(toolContext.agentName);
    const before = toolContext.state.get(key) || [];
    if (!before.includes(name)) toolContext.state.set(key, [...before, name]);
    const { instructions, frontmatter, resources } = skill;
    return { skill_name: name, instructions, frontmatter, resources };
  }
}

const binary = "The file is not text. It is added to the conversation for you to look at.";

const types = { pdf: "application/pdf", jpg: "image/jpeg", jpeg: "image/jpeg", png: "image/png", gif: "image/gif" };
const typeOf = (name) => types[name.split(".").pop().toLowerCase()] ?? "application/octet-stream";

const resourceOf = ({ resources = {} }, name) => {
  const [top, ...rest] = name.split("/");
  const found = Object.hasOwn(resources[top] ?? {}, rest.join("/")) ? resources[top][rest.join("/")] : undefined;
  return top === "scripts" ? found?.src : found;
};

export class LoadSkillResourceTool extends SkillTool {
  constructor(toolset) {
    const properties = { skill_name: text("The name of the skill."), path: text("The path of the file in the skill, such as references/guide.md, assets/form.txt or scripts/setup.sh.") };
    super(toolset, "load_skill_resource", "Loads a file of a skill: from references/, assets/ or scripts/.", properties, ["skill_name", "path"]);
  }
  async runAsync({ args, toolContext }) {
    const name = args.skill_name;
    if (!name) return this.failed("Skill name is required.", "MISSING_SKILL_NAME");
    if (!args.path) return this.failed("Resource path is required.", "MISSING_RESOURCE_PATH");
    const file = path.posix.normalize(args.path);
    const { skill, failure } = await this.find(name, toolContext);
    if (failure) return failure;
    if (!/^(references|assets|scripts)\//.test(file)) return this.failed("Path must start with 'references/', 'assets/', or 'scripts/'.", "INVALID_RESOURCE_PATH");
    const content = resourceOf(skill, file);
    if (content === undefined) return this.failed(`Resource '${file}' not found in skill '${name}'.`, "RESOURCE_NOT_FOUND");
    return { skill_name: name, path: file, ...(typeof content === "string" ? { content } : { status: binary }) };
  }
  /** Shows the model the files that are not text, right after it has asked for them. */
  async processLlmRequest({ toolContext, llmRequest }) {
    const last = llmRequest.contents?.at(-1);
    if (last?.role !== "user") return;
    for (const { functionResponse } of list(last.parts)) {
      if (functionResponse?.name !== this.name || functionResponse.response?.status !== binary) continue;
      const { skill_name, path: file } = functionResponse.response;
      const { skill } = await this.find(skill_name, toolContext);
      const content = skill && resourceOf(skill, file);
      if (!(content instanceof Uint8Array)) continue;
      llmRequest.contents.push({ role: "user", parts: [{ text: `The file ${file}:` }, { inlineData: { data: Buffer.from(content).toString("base64"), mimeType: typeOf(file) } }] });
    }
  }
}

export class SearchSkillsTool extends SkillTool {
  constructor(toolset) {
    if (!toolset.registry) throw new Error("A SearchSkillsTool needs a toolset with a registry");
    const description = toolset.registry.searchToolDescription?.() || "Looks for skills in the registry.";
    super(toolset, "search_skills", description, { query: text("What the skill should be for.") }, ["query"]);
  }
  async runAsync({ args: { query } }) {
    if (!query) return this.failed("Argument 'query' is required.", "INVALID_ARGUMENTS");
    try {
      const found = await this.toolset.registry.searchSkills(query);
      return found.filter(({ name }) => !this.toolset.skills[name]);
    } catch (error) {
      return this.failed(`Failed to search skills from registry: ${error?.message || error}`, "REGISTRY_ERROR");
    }
  }
}

const languages = { js: "javascript", ts: "typescript", py: "python", sh: "shell" };

/** The code that runs a script among the files of an execution. */
const starters = {
  javascript: (file) => `require('./${file}');`,
  python: (file) => `import runpy\nrunpy.run_path('./${file}', run_name='__main__')`,
  shell: (file) => `source ./${file} "$@"`,
};

const mostRuns = 100; // whose skills of a registry are kept

/** The files of a skill, as an executor takes them. */
const filesOf = ({ resources = {} }) =>
  ["references", "assets", "scripts"].flatMap((top) =>
    Object.entries(resources[top] ?? {}).map(([name, one]) => {
      const content = typeof one === "object" && "src" in one ? one.src : one;
      const isText = typeof content === "string";
      return { name: `${top}/${name}`, content: isText ? content : Buffer.from(content).toString("base64"), contentEncoding: isText ? "utf-8" : "base64", mimeType: isText ? "text/plain" : typeOf(name) };
    }),
  );

/** Runs code in the executor of the set or of the agent. Its files become artifacts. */
async function execute(toolset, toolContext, codeExecutionInput) {
  const { invocationContext } = toolContext;
  const executor = toolset.codeExecutor ?? invocationContext?.agent?.codeExecutor;
  const result = await executor.executeCode({ invocationContext, codeExecutionInput });
  for (const { name, content, contentEncoding = "base64", mimeType } of list(result.outputFiles)) {
    await toolContext.saveArtifact(name, { inlineData: { data: contentEncoding === "base64" ? content : Buffer.from(content, contentEncoding).toString("base64"), mimeType } });
  }
  return { ...result, outputFiles: list(result.outputFiles).map(({ name, mimeType }) => ({ name, mimeType })) };
}

class ScriptTool extends SkillTool {
  failed(error, errorCode) {
    return { error, errorCode };
  }
  noExecutor(toolContext) {
    if (this.toolset.codeExecutor ?? toolContext.invocationContext?.agent?.codeExecutor) return undefined;
    return this.failed("No code executor configured.", "NO_CODE_EXECUTOR");
  }
}

export class RunSkillScriptTool extends ScriptTool {
  constructor(toolset) {
    const properties = {
      skill_name: text("The name of the skill."),
      script_path: text("The path of the script in the skill, such as scripts/setup.js."),
      args: { type: "OBJECT", description: "Arguments of the script, by name." },
    };
    super(toolset, "run_skill_script", "Runs a script of a skill.", properties, ["skill_name", "script_path"], toolset.codeExecutor?.effect ?? "once");
  }
  async runAsync({ args, toolContext }) {
    const { skill_name: name, script_path: file } = args;
    if (!name) return this.failed("Skill name is required.", "MISSING_SKILL_NAME");
    if (!file) return this.failed("Script path is required.", "MISSING_SCRIPT_PATH");
    const { skill, failure } = await this.find(name, toolContext);
    if (failure) return failure;
    const inside = file.replace(/^scripts\//, "");
    if (!Object.hasOwn(skill.resources?.scripts ?? {}, inside)) return this.failed(`Script '${file}' not found in skill '${name}'.`, "SCRIPT_NOT_FOUND");
    const missing = this.noExecutor(toolContext);
    if (missing) return missing;
    try {
      const language = languages[inside.split(".").pop().toLowerCase()];
      if (!starters[language]) throw new Error(`scripts of this kind cannot be run: they are .js, .py or .sh`);
      return await execute(this.toolset, toolContext, { code: starters[language](`scripts/${inside}`), inputFiles: filesOf(skill), language, args: args.args || {} });
    } catch (error) {
      return this.failed(`Failed to execute script '${file}': ${error.message}`, "EXECUTION_ERROR");
    }
  }
}

export const RunSkillInlineScriptErrorCode = Object.freeze(
  Object.fromEntries(["MISSING_SCRIPT_CONTENT", "MISSING_LANGUAGE", "NO_CODE_EXECUTOR", "EXECUTION_ERROR", "CONFIRMATION_REJECTED"].map((name) => [name, name])),
);

/** Runs a script that the model has written, if the user allows it. */
export class RunSkillInlineScriptTool extends ScriptTool {
  constructor(toolset) {
    const properties = {
      script_content: text("The script."),
      language: { ...text("The language of the script."), enum: ["python", "javascript", "typescript", "shell", "powershell", "cmd"] },
      args: { anyOf: [{ type: "OBJECT" }, { type: "ARRAY", items: { type: "STRING" } }], description: "Arguments of the script, by name or as a list." },
    };
    super(toolset, "run_skill_inline_script", "Runs a script that you write.", properties, ["script_content", "language"], toolset.codeExecutor?.effect ?? "once");
  }
  async runAsync({ args: { script_content: code, language, args }, toolContext }) {
    if (!code) return this.failed("Script content is required.", "MISSING_SCRIPT_CONTENT");
    if (!language) return this.failed("Language is required.", "MISSING_LANGUAGE");
    const missing = this.noExecutor(toolContext);
    if (missing) return missing;
    if (!toolContext.toolConfirmation) {
      toolContext.requestConfirmation({ hint: `The agent wants to run this ${language} script. Approve it only if you trust it:\n\n${code}`, payload: { language, scriptContent: code } });
      return { partial: "This tool call waits for the confirmation of the user." };
    }
    if (!toolContext.toolConfirmation.confirmed) return this.failed("Inline script execution was not confirmed and was rejected.", "CONFIRMATION_REJECTED");
    try {
      return await execute(this.toolset, toolContext, { code, inputFiles: [], language, args });
    } catch (error) {
      return this.failed(`Failed to execute inline script: ${error.message}`, "EXECUTION_ERROR");
    }
  }
}

/** Offers skills to a model. */
export class SkillToolset extends BaseToolset {
  #fetched = new Map(); // skills of the registry, by run and name
  constructor(skills, options = {}) {
    super([], "adk_skill_toolset");
    this.skills = Array.isArray(skills) ? Object.fromEntries(skills.map((one) => [one.frontmatter.name, one])) : (skills ?? {});
    this.codeExecutor = options.codeExecutor;
    this.additionalTools = options.additionalTools ?? [];
    this.registry = options.registry;
    this.scriptOutputDir = options.scriptOutputDir;
    if (options.scriptOutputDir) console.warn("scriptOutputDir of a SkillToolset has no effect here: files that scripts write become artifacts");
    this.tools = [new ListSkillsTool(this), new LoadSkillTool(this), new LoadSkillResourceTool(this), new RunSkillScriptTool(this)];
    if (options.allowInlineScripts) this.tools.push(new RunSkillInlineScriptTool(this));
    if (this.registry) this.tools.push(new SearchSkillsTool(this));
    setMark(this, "skillToolset");
  }
  async getTools(context) {
    return [...this.tools, ...(await this.#additional(context))];
  }
  async close() {
    this.#fetched.clear();
  }
  getSkill(name) {
    return this.skills[name];
  }
  async getOrFetchSkill(name, invocationId = "") {
    if (Object.hasOwn(this.skills, name)) return this.skills[name];
    if (!this.registry) return undefined;
    const run = this.#fetched.get(invocationId) ?? new Map();
    this.#fetched.delete(invocationId);
    this.#fetched.set(invocationId, run);
    if (this.#fetched.size > mostRuns) this.#fetched.delete(this.#fetched.keys().next().value);
    if (!run.has(name)) run.set(name, await this.registry.getSkill(name));
    return run.get(name);
  }
  async processLlmRequest(_, llmRequest) {
    appendInstructions(llmRequest, [guide, listed(this.skills), ...(this.registry ? [more] : [])]);
  }
  // The tools that the skills which were loaded name in their metadata.
  async #additional(context) {
    const loaded = context?.state?.get(activated(context.agentName)) || [];
    const wanted = new Set();
    for (const name of loaded) {
      const skill = await this.getOrFetchSkill(name, context.invocationId);
      for (const tool of list(skill?.frontmatter.metadata?.adk_additional_tools)) wanted.add(tool);
    }
    if (wanted.size === 0) return [];
    const offered = new Map();
    for (const one of this.additionalTools) {
      for (const tool of isBaseTool(one) ? [one] : isBaseToolset(one) ? await one.getTools(context) : []) {
        if (offered.has(tool.name)) throw new Error(`Two additional tools of a SkillToolset are called ${tool.name}`);
        offered.set(tool.name, tool);
      }
    }
    const own = new Set(this.tools.map((tool) => tool.name));
    return [...wanted].filter((name) => offered.has(name) && !own.has(name)).map((name) => offered.get(name));
  }
}
