// parallel
// > go
import { BaseAgent, LlmAgent, ParallelAgent, SequentialAgent, createEvent } from "@google/adk";
import { Scripted } from "../model";

const one = new LlmAgent({ name: "one", model: new Scripted("from one"), outputKey: "one" });
const two = new LlmAgent({ name: "two", model: new Scripted("from two"), outputKey: "two" });
// The last agent sees what was said before it: which of the two was later is chance.
class Between extends BaseAgent {
  async *runAsyncImpl(context: any) {
    yield createEvent({ author: this.name, invocationId: context.invocationId, content: { role: "model", parts: [{ text: "both are done" }] } });
  }
  async *runLiveImpl() {}
}
const last = new LlmAgent({ name: "last", model: new Scripted("both"), instruction: "{one} {two}", includeContents: "none" });
export const rootAgent = new SequentialAgent({ name: "root", subAgents: [new ParallelAgent({ name: "both", subAgents: [one, two] }), new Between({ name: "between" }), last] });
