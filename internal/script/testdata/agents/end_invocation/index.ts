// A custom agent that ends its work in the middle.
import { BaseAgent, createEvent, type InvocationContext } from '@google/adk';

class Impatient extends BaseAgent {
  async *runAsyncImpl(ctx: InvocationContext) {
    for (let i = 1; ; i++) {
      if (i === 3) ctx.endInvocation = true; // what it says now is its last word
      yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: `Step ${i}.` }] } });
    }
  }
}

export const rootAgent = new Impatient({ name: 'impatient' });
