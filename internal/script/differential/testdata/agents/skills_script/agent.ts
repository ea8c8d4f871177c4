// > sweep
import { BaseCodeExecutor, LlmAgent, SkillToolset } from "@google/adk";
import { Scripted, call } from "../model";

const tidy = {
  frontmatter: { name: "tidy", description: "Tidies <rooms> & \"more\".", metadata: {} },
  instructions: "Sweep, then read references/how.md.",
  resources: { references: { "how.md": "Gently." }, assets: {}, scripts: { "sweep.py": { src: "print('swept')" }, "mop.js": { src: "console.log(1)" }, "dust.sh": { src: "echo 1" } } },
};

class Echo extends BaseCodeExecutor {
  async executeCode({ codeExecutionInput: { code, inputFiles, language, args } }: any): Promise<any> {
    if (args?.fail) throw new Error("it broke");
    return { stdout: JSON.stringify({ code, language, args, files: inputFiles.map((f: any) => f.name) }), stderr: "", outputFiles: [] };
  }
}
const run = (script_path: string, args?: object) => call("run_skill_script", { skill_name: "tidy", script_path, ...(args && { args }) });
const model = new Scripted([run("scripts/sweep.py", { room: "hall" })], [run("scripts/mop.js"), run("scripts/dust.sh"), run("scripts/sweep.py", { fail: true })], "done");
export const rootAgent = new LlmAgent({ name: "cleaner", model, tools: [new SkillToolset([tidy], { codeExecutor: new Echo() })] });
