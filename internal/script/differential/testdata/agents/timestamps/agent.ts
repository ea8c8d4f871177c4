// > go
import { BaseAgent, LlmAgent, createEvent } from "@google/adk";
import { Scripted } from "../model";

const inner = new LlmAgent({ name: "inner", model: new Scripted("hi") });
const recent = (time: number) => Math.abs(Date.now() - time) < 600_000;
// Times inside of the code are milliseconds.
class Clock extends BaseAgent {
  async *runAsyncImpl(context: any) {
    const times = [];
    for await (const event of inner.runAsync(context)) {
      times.push(event.timestamp);
      yield event;
    }
    times.push(...context.session.events.map((event: any) => event.timestamp), createEvent({}).timestamp, context.session.lastUpdateTime);
    yield createEvent({ author: this.name, content: { role: "model", parts: [{ text: JSON.stringify(times.map(recent)) }] } });
  }
  async *runLiveImpl() {}
}
export const rootAgent = new Clock({ name: "clock", subAgents: [inner] });
