// > tidy up
// > and again
import { FunctionTool, LlmAgent, SkillToolset } from "@google/adk";
import { z } from "zod";
import { Scripted, call } from "../model";

const tool = (name: string) => new FunctionTool({ name, description: `Does ${name}.`, parameters: z.object({}), execute: () => `${name} done` });
const tidy = { frontmatter: { name: "tidy", description: "Tidies.", metadata: { adk_additional_tools: ["sweep", "fly", "load_skill"] } }, instructions: "Sweep." };
const model = new Scripted([call("load_skill", { name: "tidy" })], [call("sweep")], "done", [call("sweep")], "done");
export const rootAgent = new LlmAgent({ name: "cleaner", model, tools: [new SkillToolset([tidy], { additionalTools: [tool("sweep"), tool("mop")] })] });
