// > go
// > again
import { FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

const look = new FunctionTool({ name: "look", description: "Looks.", execute: () => ({ seen: "sea" }) });
let asked = 0;
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted([call("look")], "what the model says"),
  tools: [look],
  beforeModelCallback: ({ request }: any) => {
    if (++asked === 3) return { content: { role: "model", parts: [{ text: "in place of the model" }] } };
    request.config.systemInstruction += " Changed.";
    request.contents.push({ role: "user", parts: [{ text: "added" }] });
    return undefined;
  },
  afterModelCallback: ({ response }: any) => (response.content.parts[0].text ? { ...response, content: { role: "model", parts: [{ text: response.content.parts[0].text.toUpperCase() }] } } : undefined),
  beforeToolCallback: () => ({ in: "place of the tool" }),
});
