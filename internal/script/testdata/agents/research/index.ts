// Researchers at the same time, and one agent that puts their results together.
import { BaseAgent, InvocationContext, LlmAgent, ParallelAgent, SequentialAgent, createEvent, createEventActions } from '@google/adk';

// The order in which they are ready is not defined; here the first one is first.
let ready: () => void;
const first = new Promise<void>((resolve) => (ready = resolve));

const energy = new LlmAgent({
  name: 'energy',
  model: 'gemini-2.5-flash',
  instruction: 'Research renewable energy.',
  outputKey: 'energy_result',
  afterAgentCallback: () => {
    ready();
    return undefined;
  },
});

class CarsResearcher extends BaseAgent {
  async *runAsyncImpl(ctx: InvocationContext) {
    await first;
    yield createEvent({
      author: this.name,
      branch: ctx.branch,
      content: { role: 'model', parts: [{ text: `Cars, in ${ctx.branch}.` }] },
      actions: createEventActions({ stateDelta: { cars_result: 'Batteries got better.' } }),
    });
  }
}

export const rootAgent = new SequentialAgent({
  name: 'research',
  subAgents: [
    new ParallelAgent({ name: 'researchers', subAgents: [energy, new CarsResearcher({ name: 'cars' })] }),
    new LlmAgent({ name: 'merger', model: 'gemini-2.5-pro', instruction: 'Merge "{energy_result}" and "{cars_result}".' }),
  ],
});
