// > go
// > again
import { LlmAgent } from "@google/adk";
import { Scripted } from "../model";

let asked = 0;
export const rootAgent = new LlmAgent({
  name: "root",
  model: new Scripted("from the model"),
  beforeModelCallback: (({ request }: any) => {
    request.config.temperature = 0.1;
    return asked++ === 0 ? { content: { role: "model", parts: [{ text: "from the callback" }] } } : undefined;
  }) as any,
  afterModelCallback: (({ response }: any) => ({ ...response, content: { role: "model", parts: [{ text: `${response.content.parts[0].text}!` }] } })) as any,
  outputKey: "answer",
});
