// > tidy up
import { LlmAgent, SkillToolset } from "@google/adk";
import { Scripted, call } from "../model";

const tidy = {
  frontmatter: { name: "tidy", description: "Tidies <rooms> & \"more\".", metadata: {} },
  instructions: "Sweep, then read references/how.md.",
  resources: { references: { "how.md": "Gently." }, assets: {}, scripts: { "sweep.py": { src: "print('swept')" } } },
};

const model = new Scripted([call("list_skills")], [call("load_skill", { name: "tidy" })], [call("load_skill_resource", { skill_name: "tidy", path: "references/how.md" })], "done");
export const rootAgent = new LlmAgent({ name: "cleaner", model, instruction: "Help.", tools: [new SkillToolset([tidy])] });
