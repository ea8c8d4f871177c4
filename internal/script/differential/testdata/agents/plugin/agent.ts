// > go
import { App, BasePlugin, FunctionTool, LlmAgent } from "@google/adk";
import { Scripted, call } from "../model";

class Counter extends BasePlugin {
  async beforeModelCallback({ callbackContext }: any): Promise<any> {
    callbackContext.state.set("models", (callbackContext.state.get("models") ?? 0) + 1);
  }
  async afterToolCallback({ result }: any): Promise<any> {
    return { ...result, plugged: true };
  }
  async onUserMessageCallback({ userMessage }: any): Promise<any> {
    return { role: "user", parts: [...userMessage.parts, { text: "please" }] };
  }
}
const look = new FunctionTool({ name: "look", description: "Looks.", execute: () => ({ seen: "sea" }) });
const rootAgent = new LlmAgent({ name: "root", model: new Scripted([call("look")], "done"), tools: [look] });
export const app = new App({ name: "plugin", rootAgent, plugins: [new Counter("counter")] });
