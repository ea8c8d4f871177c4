// Custom agents that run custom agents, leave them early, and mind their errors.
import { BaseAgent, FunctionTool, LlmAgent, createEvent, stringifyContent, type Context, type Event, type InvocationContext } from '@google/adk';

const say = (author: string, text: string) => createEvent({ author, content: { role: 'model', parts: [{ text }] } });

class Counter extends BaseAgent {
  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void, void> {
    try {
      for (let i = 1; ; i++) {
        ctx.session.state['count'] = i;
        yield say(this.name, `${i} ${ctx.session.state['count']}`);
      }
    } finally {
      console.log('the counter was left');
    }
  }
}

class Guardian extends BaseAgent {
  constructor(private readonly helpers: LlmAgent[]) {
    super({ name: 'guardian', description: 'Runs helpers.' });
  }
  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void, void> {
    for (const helper of this.helpers) {
      try {
        yield* helper.runAsync(ctx);
      } catch (error) {
        yield say(this.name, `${helper.name} failed: ${(error as Error).message}`);
      }
    }
  }
}

class Director extends BaseAgent {
  constructor(private readonly counter: Counter, private readonly guardian: Guardian) {
    super({
      name: 'director',
      subAgents: [counter, guardian],
      beforeAgentCallback: (context: Context) => void context.state.set('began', context.invocationContext.agent.name),
      afterAgentCallback: [async () => undefined],
    });
  }
  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void, void> {
    if (stringifyContent({ content: ctx.userContent } as Event) === 'throw') throw new RangeError('out of ideas');
    for await (const event of this.counter.runAsync(ctx)) {
      yield event;
      if (ctx.session.state['count'] === 3) break;
    }
    yield* this.guardian.runAsync(ctx);
    yield say(this.name, `${ctx.agent.name} of ${this.guardian.rootAgent.name} ran ${this.subAgents.map((a) => a.name)} in ${ctx.appName}/${ctx.userId}/${ctx.session.id}`);
  }
}

const double = new FunctionTool({ name: 'double', description: 'Doubles the count.', execute: (_args, context) => (context!.state.get('count') as number) * 2 });

export const rootAgent = new Director(
  new Counter({ name: 'counter' }),
  new Guardian([
    new LlmAgent({ name: 'calm', model: 'gemini-2.5-flash', instruction: 'Count {count}.', tools: [double] }),
    new LlmAgent({ name: 'nervous', model: 'gemini-2.5-pro' }),
  ]),
);
