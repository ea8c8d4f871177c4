// A custom agent that decides itself who works next.
import { BaseAgent, Event, InvocationContext, LlmAgent, LoopAgent, SequentialAgent, createEvent, isFinalResponse } from '@google/adk';

const model = 'gemini-2.5-flash';

class StoryFlowAgent extends BaseAgent {
  private readonly polish: LoopAgent;
  private readonly checks: SequentialAgent;

  constructor(
    name: string,
    private readonly writer: LlmAgent,
    critic: LlmAgent,
    reviser: LlmAgent,
    grammar: LlmAgent,
    private readonly tone: LlmAgent,
  ) {
    const polish = new LoopAgent({ name: 'polish', subAgents: [critic, reviser], maxIterations: 2 });
    const checks = new SequentialAgent({ name: 'checks', subAgents: [grammar, tone] });
    super({ name, description: 'Writes a story.', subAgents: [writer, polish, checks] });
    this.polish = polish;
    this.checks = checks;
  }

  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void, void> {
    let final = 0;
    for await (const event of this.writer.runAsync(ctx)) {
      if (isFinalResponse(event)) final++;
      yield event;
    }
    // What the writer said was committed before the loop came back here.
    const draft = ctx.session.state['draft'] as string | undefined;
    if (!draft) {
      yield createEvent({ author: this.name, invocationId: ctx.invocationId, content: { role: 'model', parts: [{ text: 'No story came.' }] } });
      return;
    }
    yield* this.polish.runAsync(ctx);
    yield* this.checks.runAsync(ctx);
    if (ctx.session.state['tone'] === 'negative') {
      ctx.session.state['retries'] = 1;
      yield* this.writer.runAsync(ctx);
    }
    yield createEvent({
      author: this.name,
      content: { role: 'model', parts: [{ text: `${final} final, ${ctx.session.events.length} events, ${ctx.session.state['retries']} retry: ${ctx.session.state['draft']}` }] },
    });
  }

  protected async *runLiveImpl(): AsyncGenerator<Event, void, void> {
    throw new Error('not here');
  }
}

export const rootAgent = new StoryFlowAgent(
  'story_flow',
  new LlmAgent({ name: 'writer', model: 'writer-model', instruction: 'Write about {topic?}.', outputKey: 'draft' }),
  new LlmAgent({ name: 'critic', model, instruction: 'Criticise: {{draft}}', outputKey: 'criticism' }),
  new LlmAgent({ name: 'reviser', model, instruction: 'Revise {draft} after {criticism}.', outputKey: 'draft' }),
  new LlmAgent({ name: 'grammar', model, instruction: 'Check the grammar.', outputKey: 'grammar' }),
  new LlmAgent({ name: 'tone', model, instruction: 'Name the tone.', outputKey: 'tone' }),
);
