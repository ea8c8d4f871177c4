// A custom agent that ends the run in the middle: what comes after it in the
// sequence has no turn any more.
import { BaseAgent, SequentialAgent, createEvent, type InvocationContext } from '@google/adk';

class Impatient extends BaseAgent {
  async *runAsyncImpl(ctx: InvocationContext) {
    for (let i = 1; ; i++) {
      if (i === 3) ctx.endInvocation = true; // what it says now is its last word
      yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: `Step ${i}.` }] } });
    }
  }
}

class Late extends BaseAgent {
  async *runAsyncImpl() {
    yield createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'Too late.' }] } });
  }
}

export const rootAgent = new SequentialAgent({
  name: 'both',
  subAgents: [new Impatient({ name: 'impatient' }), new Late({ name: 'late' })],
});
