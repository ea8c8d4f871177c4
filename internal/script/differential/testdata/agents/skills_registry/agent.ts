// > tidy up
import { LlmAgent, SkillToolset } from "@google/adk";
import { Scripted, call } from "../model";

const tidy = {
  frontmatter: { name: "tidy", description: "Tidies <rooms> & \"more\".", metadata: {} },
  instructions: "Sweep, then read references/how.md.",
  resources: { references: { "how.md": "Gently." }, assets: {}, scripts: { "sweep.py": { src: "print('swept')" } } },
};

const registry = {
  getSkill: async (name: string) => {
    if (name !== "cook") throw new Error(`no skill ${name}`);
    return { frontmatter: { name, description: "Cooks.", metadata: {} }, instructions: "Boil water.", resources: { references: { "pots.md": "Two." } } };
  },
  searchSkills: async (query: string) => {
    if (query === "broken") throw new Error("the registry is down");
    return [{ name: "cook", description: "Cooks." }, { name: "tidy", description: "Another one." }];
  },
  searchToolDescription: () => "Looks in the house registry.",
};
const model = new Scripted(
  [call("search_skills", { query: "food" }), call("search_skills", { query: "broken" }), call("search_skills", {})],
  [call("load_skill", { name: "cook" }), call("load_skill", { name: "fly" })],
  [call("load_skill_resource", { skill_name: "cook", path: "references/pots.md" })],
  "done",
);
export const rootAgent = new LlmAgent({ name: "cleaner", model, tools: [new SkillToolset([tidy], { registry })] });
