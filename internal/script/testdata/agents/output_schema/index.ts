// Structured output, kept in the state.
import { LlmAgent } from '@google/adk';
import { z } from 'zod';

const Sentiment = z.object({
  sentiment: z.enum(['positive', 'neutral', 'negative']),
  confidence: z.number().min(0).max(1),
  keywords: z.array(z.string()),
});

export const rootAgent = new LlmAgent({
  name: 'sentiment',
  model: 'gemini-2.5-flash',
  instruction: 'Judge the sentiment.',
  outputSchema: Sentiment,
  outputKey: 'sentiment',
  generateContentConfig: { temperature: 0.2, topP: 0.9, maxOutputTokens: 200, stopSequences: ['END'] },
});
