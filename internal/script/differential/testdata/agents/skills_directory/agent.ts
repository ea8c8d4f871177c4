// > tidy up
import { existsSync } from "node:fs";
import { LlmAgent, SkillToolset, loadAllSkillsInDir, loadSkillFromDir, validateSkillDir } from "@google/adk";
import { Scripted, call } from "../model";

// The directory of the agent, or the one above all of them.
const base = existsSync("skills") ? "skills" : "agents/skills_directory/skills";
const tidy = await loadSkillFromDir(`${base}/tidy`);
const all = await loadAllSkillsInDir(base);
const found = { tidy: [tidy.instructions, tidy.resources], names: Object.keys(all).sort(), valid: await validateSkillDir(`${base}/tidy`), extra: await validateSkillDir(`${base}/more/mop_up`), wrong: (await validateSkillDir(`${base}/wrong`)).length };
const model = new Scripted([call("load_skill", { name: "tidy" })], JSON.stringify(found));
export const rootAgent = new LlmAgent({ name: "cleaner", model, tools: [new SkillToolset(all)] });
