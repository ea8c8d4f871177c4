// A research loop: two agents look things up at the same time, a third writes,
// and an editor sends it back until there is enough.
import { BaseAgent, createEvent, Event, FunctionTool, InvocationContext, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent } from '@google/adk';
import { z } from 'zod';

const library: Record<string, string> = {
  history: 'The first lighthouse of which we know stood in Alexandria.',
  technology: 'A Fresnel lens throws the light of a small lamp over twenty miles.',
};

const lookUp = (subject: string) =>
  new FunctionTool({
    name: `look_up_${subject}`,
    description: `Looks up the ${subject} of something.`,
    parameters: z.object({ topic: z.string().describe('What to look up.') }),
    execute: ({ topic }) => ({ status: 'success', message: `On ${topic}: ${library[subject]}` }),
  });

const researcher = (subject: string) =>
  new LlmAgent({
    name: `${subject}_researcher`,
    model: 'gemini-2.5-flash',
    instruction: `Look up the ${subject} of what the user names, with look_up_${subject}.`,
    tools: [lookUp(subject)],
    outputKey: subject,
  });

const writer = new LlmAgent({
  name: 'writer',
  model: 'gemini-2.5-flash',
  instruction: 'Write a paragraph from these notes.\n{history?}\n{technology?}\nWhat was missing last time: {missing?}',
  includeContents: 'none',
  outputKey: 'report',
});

// An editor that is code rather than a model: it ends the loop by escalating.
class Editor extends BaseAgent {
  constructor() {
    super({ name: 'editor', description: 'Says whether the report is complete.' });
  }

  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event> {
    const rounds = Number(ctx.session.state['rounds'] ?? 0) + 1;
    const complete = rounds >= 2;
    const text = complete ? `The report is complete after ${rounds} rounds.` : 'Look at it once more.';
    yield createEvent({
      author: this.name,
      content: { role: 'model', parts: [{ text }] },
      actions: { escalate: complete, stateDelta: { rounds, missing: complete ? null : 'a second look' } } as any,
    });
  }
}

export const rootAgent = new SequentialAgent({
  name: 'research',
  description: 'Researches a topic and writes about it.',
  subAgents: [
    new ParallelAgent({ name: 'look_up', subAgents: [researcher('history'), researcher('technology')] }),
    new LoopAgent({ name: 'improve', maxIterations: 3, subAgents: [writer, new Editor()] }),
  ],
});
