// A loop that a model ends with a tool, and one that a custom agent ends.
import { BaseAgent, EXIT_LOOP, InvocationContext, LlmAgent, LoopAgent, SequentialAgent, createEvent, createEventActions } from '@google/adk';

class Checker extends BaseAgent {
  async *runAsyncImpl(ctx: InvocationContext) {
    const rounds = ((ctx.session.state['rounds'] as number) ?? 0) + 1;
    yield createEvent({
      author: this.name,
      actions: createEventActions({ stateDelta: { rounds }, escalate: rounds >= 2 }),
    });
  }
}

export const rootAgent = new SequentialAgent({
  name: 'refine',
  subAgents: [
    new LoopAgent({
      name: 'until_good',
      maxIterations: 5,
      subAgents: [
        new LlmAgent({ name: 'critic', model: 'gemini-2.5-flash', instruction: 'Criticise.', outputKey: 'criticism' }),
        new LlmAgent({ name: 'refiner', model: 'gemini-2.5-pro', instruction: 'Refine, or exit when {criticism} is good.', tools: [EXIT_LOOP] }),
      ],
    }),
    new LoopAgent({ name: 'twice', subAgents: [new Checker({ name: 'checker' })] }),
  ],
});
