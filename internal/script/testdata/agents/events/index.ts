// A custom agent that looks into what another one says, and changes it.
import {
  BaseAgent, createEvent, createEventActions, EventActions, FunctionTool, getFunctionCalls, getFunctionResponses, hasThoughts, isFinalResponse,
  LlmAgent, stringifyContent, type Event, type InvocationContext,
} from '@google/adk';
import { createModelContent } from '@google/genai';
import { Event as EventClass } from 'adk-typescript/events';
import { z } from 'zod';

const echo = new FunctionTool({ name: 'echo', description: 'Echoes.', parameters: z.object({ text: z.string() }), execute: ({ text }) => ({ text }) });

class Censor extends BaseAgent {
  constructor(private inner: LlmAgent) {
    super({ name: 'censor' });
  }
  async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event> {
    const seen: string[] = [];
    for await (const event of this.inner.runAsync(ctx)) {
      seen.push(
        [event.author, getFunctionCalls(event).map((c) => c.name), getFunctionResponses(event).map((r) => r.response!['text']), isFinalResponse(event), hasThoughts(event)].join('/'),
      );
      if (getFunctionCalls(event).length || getFunctionResponses(event).length) {
        yield event;
        continue;
      }
      if (stringifyContent(event).includes('drop')) continue;
      event.content = createModelContent(stringifyContent(event).replace(/damn/g, 'd***'));
      event.customMetadata = { censored: true };
      yield event;
    }
    const note = createEvent({ author: this.name, invocationId: ctx.invocationId, content: createModelContent([{ text: seen.join(' ') }]) });
    yield note;
    yield new EventClass({
      author: this.name,
      content: { role: 'model', parts: [{ text: `${note.id.length} ${note.actions.stateDelta && 'actions'} ${new EventClass({ author: 'x' }).isFinalResponse()}` }] },
      actions: new EventActions({ stateDelta: { seen: seen.length } }),
      longRunningToolIds: new Set<string>(),
    }) as unknown as Event;
    yield createEvent({ actions: createEventActions({ stateDelta: { [ctx.session.state['seen'] === seen.length ? 'committed' : 'lost']: true } }) });
    ctx.session.state['after'] = 'the last event';
  }
}

export const rootAgent = new Censor(new LlmAgent({ name: 'inner', model: 'gemini-2.5-flash', tools: [echo] }));
