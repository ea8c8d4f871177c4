// > go
import { BaseLlmRequestProcessor, LlmAgent } from "@google/adk";
import { Scripted } from "../model";

class Own extends BaseLlmRequestProcessor {
  override async *runAsync(context: any, request: any) {
    request.config.systemInstruction += ` I am ${context.agent.name}.`;
  }
}
export const rootAgent = new LlmAgent({ name: "root", description: "Works.", model: new Scripted("hi"), instruction: "Be kind." });
rootAgent.requestProcessors = rootAgent.requestProcessors.filter((p: any) => p.constructor.name !== "IdentityLlmRequestProcessor");
rootAgent.requestProcessors.push(new Own());
