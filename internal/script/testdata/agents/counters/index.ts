// Calls that are made at the same time change one key, in an agent whose events
// pass through another one.
import { BaseAgent, FunctionTool, LlmAgent, type Event, type InvocationContext } from '@google/adk';
import { z } from 'zod';

const count = new FunctionTool({
  name: 'count',
  description: 'Counts an item.',
  parameters: z.object({ item: z.string() }),
  execute: async ({ item }, context) => {
    const state = context!.state as any;
    const before = state.get('set', 0);
    await new Promise((resolve) => setTimeout(resolve, 1));
    state.set('set', before + 1);
    state.increment('added');
    state.increment('added', 0.5);
    state.append('items', item);
    const refused = [];
    for (const change of [() => state.increment('user:n'), () => state.append('added', 1), () => state.increment('items')]) {
      try {
        change();
      } catch (e) {
        refused.push((e as Error).message.slice(0, 40));
      }
    }
    return { seen: [state.get('added'), state.items, 'added' in state], refused };
  },
});

const counter = new LlmAgent({ name: 'counter', model: 'gemini-2.5-flash', instruction: 'Count.', tools: [count] });

class Around extends BaseAgent {
  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void> {
    (ctx.session.state as any).increment?.('turns');
    for await (const event of counter.runAsync(ctx)) yield event;
  }
  async *runLiveImpl(): AsyncGenerator<Event, void> {}
}

export const rootAgent = new Around({ name: 'around', subAgents: [counter] } as any);
