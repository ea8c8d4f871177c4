// A custom agent: code decides which agents speak, and what becomes of what
// they say.
import { BaseAgent, createEvent, Event, InvocationContext, LlmAgent } from '@google/adk';

const writer = new LlmAgent({
  name: 'writer',
  model: 'gemini-2.5-flash',
  instruction: 'Write a story of three sentences about what the user names.',
  outputKey: 'draft',
});

const critic = new LlmAgent({
  name: 'critic',
  model: 'gemini-2.5-flash',
  instruction: 'Say in one sentence what is missing in this story: {draft}',
  outputKey: 'critique',
});

class StoryFlow extends BaseAgent {
  constructor() {
    super({ name: 'story_flow', description: 'Writes a story, and improves it.', subAgents: [writer, critic] });
  }

  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event> {
    for await (const event of writer.runAsync(ctx)) yield event;
    for await (const event of critic.runAsync(ctx)) yield event;

    const words = String(ctx.session.state['draft']).split(/\s+/).length;
    yield createEvent({
      author: this.name,
      content: { role: 'model', parts: [{ text: `The draft has ${words} words.` }] },
      actions: { stateDelta: { words } } as any,
    });
  }
}

export const rootAgent = new StoryFlow();
