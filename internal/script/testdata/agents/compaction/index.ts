import { LlmAgent, LlmSummarizer, SequentialAgent, TokenBasedContextCompactor, TruncatingContextCompactor, type BaseSummarizer, type Event } from '@google/adk';

class Counting implements BaseSummarizer {
  async summarize(events: Event[]) {
    return { content: { role: 'model', parts: [{ text: `${events.length} events, first of ${events[0].author}` }] } } as never;
  }
}

const tokens = (summarizer: BaseSummarizer) => [new TokenBasedContextCompactor({ tokenThreshold: 5, eventRetentionSize: 1, summarizer })];
const agent = (name: string, contextCompactors: unknown[]) => new LlmAgent({ name, model: name, contextCompactors, instruction: 'x' } as never);

export const rootAgent = new SequentialAgent({
  name: 'all',
  subAgents: [
    agent('byModel', tokens(new LlmSummarizer({ llm: 'summary-model', prompt: 'Shorten it.' }))),
    agent('byFunction', tokens(new Counting())),
    agent('byCount', [new TruncatingContextCompactor({ threshold: 4, preserveLeadingEvents: 1 })]),
  ],
});
