// > go
// > again
import { BaseAgent, LlmAgent, createEvent } from "@google/adk";
import { Scripted } from "../model";

class Reader extends BaseAgent {
  async *runAsyncImpl(ctx: any): AsyncGenerator<any, void> {
    for await (const event of this.subAgents[0].runAsync(ctx)) yield event;
    const seen = ctx.session.events.map((e: any) => [e.author, Object.keys(e.actions.requestedToolConfirmations).length, Object.keys(e.actions.requestedAuthConfigs).length, e.content?.parts?.[0]?.text]);
    yield createEvent({ invocationId: ctx.invocationId, author: this.name, branch: ctx.branch, content: { role: "model", parts: [{ text: JSON.stringify(seen) }] } });
  }
  async *runLiveImpl(): AsyncGenerator<any, void> {}
}
const inner = new LlmAgent({ name: "inner", model: new Scripted("first", "second") });
export const rootAgent = new Reader({ name: "reader", subAgents: [inner] });
