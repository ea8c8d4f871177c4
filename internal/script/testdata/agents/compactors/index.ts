import {
  AgentControlledContextCompactor, AnchoredContextCompactor, App, BasePlugin, BaseLlm, ConsolidateContextTool, ContextCompactionTrigger, hasThoughts, isScratchpadEvent, LlmAgent,
  LlmSummarizer, pruneThoughts, SequentialAgent, TrajectoryThoughtPruningCompactor, TruncatingContextCompactor, type BaseSummarizer, type CompactedEvent, type Event, type LlmRequest,
} from '@google/adk';

// Adds to what it wrote before.
class Notes implements BaseSummarizer {
  async summarize(events: Event[]) {
    const [first] = events as CompactedEvent[];
    const notes = isScratchpadEvent(first) && first.isScratchpad ? `${first.compactedContent.split(': ')[1]}, ` : '';
    return { compactedContent: `${notes}${events.length} events` } as CompactedEvent;
  }
}

// A model that thinks, and tells how many thoughts it was sent.
class Thinker extends BaseLlm {
  async *generateContentAsync(request: LlmRequest) {
    const all = request.contents.flatMap((c) => c.parts ?? []).filter((p) => p.thought);
    yield { content: { role: 'model', parts: [{ text: `${all.length + 1}. `, thought: true }, { text: `sent ${all.length} thoughts` }] } };
  }
  async connect(): Promise<never> {
    throw new Error('no');
  }
}

class Listener extends BasePlugin {
  async beforeContextCompaction({ trigger }: { trigger: ContextCompactionTrigger }) {
    console.log(`trigger ${trigger}`);
  }
}

const event = { content: { parts: [{ text: 'hm', thought: true }, { text: 'yes' }] } } as Event;
console.log('pruned', hasThoughts(event), hasThoughts(pruneThoughts(event)), pruneThoughts(event).content!.parts!.length);

export const app = new App({
  name: 'app',
  plugins: [new Listener('listener')],
  rootAgent: new SequentialAgent({
    name: 'all',
    subAgents: [
      new LlmAgent({
        name: 'anchored',
        model: 'anchored',
        contextCompactors: [new AnchoredContextCompactor({ tokenThreshold: 5, eventRetentionSize: 1, summarizer: new Notes() }), new TruncatingContextCompactor({ threshold: 100 })],
      }),
      new LlmAgent({
        name: 'controlled',
        model: 'controlled',
        tools: [new ConsolidateContextTool()],
        contextCompactors: [new AgentControlledContextCompactor({ summarizer: new LlmSummarizer({ llm: 'summary-model' }) })],
      }),
      new LlmAgent({ name: 'thinker', model: new Thinker({ model: 'thinker' }), contextCompactors: [new TrajectoryThoughtPruningCompactor({ eventRetentionSize: 6 })] }),
    ],
  }),
});
