// Agents that are tools of another.
import { AgentTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const capital = new LlmAgent({
  name: 'capital_finder',
  description: 'Finds the capital of a country.',
  model: 'capital-model',
  instruction: 'The user gives a country as JSON. {language?}',
  inputSchema: z.object({ country: z.string().describe('The country') }),
  outputSchema: z.object({ capital: z.string(), population: z.number().optional() }),
  outputKey: 'capital_result',
});

const summary = new LlmAgent({
  name: 'summary',
  description: 'Summarises a text.',
  model: 'summary-model',
  instruction: 'Summarise.',
  outputKey: 'temp:last_summary',
});

export const rootAgent = new LlmAgent({
  name: 'geographer',
  model: 'gemini-2.5-flash',
  tools: [new AgentTool({ agent: capital }), new AgentTool({ agent: summary, skipSummarization: true })],
});
