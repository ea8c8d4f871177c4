// > go
import { BaseAgent, Workflow, createEvent, node } from "@google/adk";

class Custom extends BaseAgent {
  async *runAsyncImpl(ctx: any): any {
    yield createEvent({ author: this.name, invocationId: ctx.invocationId, content: { role: "model", parts: [{ text: "custom" }] } });
  }
  async *runLiveImpl(): any {}
}
const end = node((_: any, input: any) => `the input is ${input}`, { name: "end" });

export const rootAgent = new Workflow({ name: "root", edges: [["START", new Custom({ name: "custom" }), end]] });
