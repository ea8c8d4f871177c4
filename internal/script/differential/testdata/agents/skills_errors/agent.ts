// > tidy up
import { LlmAgent, SkillToolset } from "@google/adk";
import { Scripted, call } from "../model";

const tidy = {
  frontmatter: { name: "tidy", description: "Tidies <rooms> & \"more\".", metadata: {} },
  instructions: "Sweep, then read references/how.md.",
  resources: { references: { "how.md": "Gently." }, assets: {}, scripts: { "sweep.py": { src: "print('swept')" } } },
};

const read = (skill_name: string, path: string) => call("load_skill_resource", { skill_name, path });
const model = new Scripted(
  [call("load_skill", { name: "cook" }), call("load_skill", {}), read("cook", "references/how.md"), read("tidy", "references/when.md"), read("tidy", "SKILL.md")],
  [read("tidy", "references/../../../etc/passwd"), read("tidy", "./assets/../references/how.md"), read("", "x"), read("tidy", "")],
  [call("run_skill_script", { skill_name: "tidy", script_path: "scripts/sweep.py" }), call("run_skill_script", { skill_name: "tidy", script_path: "scripts/cook.py" }), call("run_skill_script", { skill_name: "cook", script_path: "x" })],
  "done",
);
export const rootAgent = new LlmAgent({ name: "cleaner", model, tools: [new SkillToolset({ tidy })] });
