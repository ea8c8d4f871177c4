// > look at the picture
import { LlmAgent, SkillToolset } from "@google/adk";
import { Scripted, call } from "../model";

const pictures = {
  frontmatter: { name: "pictures", description: "Shows pictures.", metadata: {} },
  instructions: "Look.",
  resources: { references: {}, assets: { "dot.png": Buffer.from([137, 80, 78, 71, 255, 0]) }, scripts: {} },
};

const model = new Scripted([call("load_skill_resource", { skill_name: "pictures", path: "assets/dot.png" })], "a dot");
export const rootAgent = new LlmAgent({ name: "painter", model, tools: [new SkillToolset([pictures])] });
