// A run that does not end by itself. The message is the number of milliseconds
// between its events, which count from 1. Their text comes in two pieces first.
import { BaseAgent, createEvent, Event, InvocationContext } from '@google/adk';

class Ticker extends BaseAgent {
  constructor() {
    super({ name: 'ticker_agent', description: 'Ticks.' });
  }

  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event> {
    const every = Number(ctx.userContent?.parts?.[0]?.text);
    for (let n = 1; ; n++) {
      for (const text of ['tick ', `${n}`]) {
        yield createEvent({ author: this.name, partial: true, content: { role: 'model', parts: [{ text }] } });
      }
      yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: `tick ${n}` }] } });
      await new Promise((resolve) => setTimeout(resolve, every));
    }
  }
}

export const rootAgent = new Ticker();
