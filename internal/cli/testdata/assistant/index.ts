import { FunctionTool, LlmAgent, LongRunningFunctionTool } from '@google/adk';
import { z } from 'zod';

const approve = new LongRunningFunctionTool({
  name: 'ask_for_approval',
  description: 'Asks the manager for the approval of an amount.',
  parameters: z.object({ amount: z.number().describe('The amount.') }),
  execute: ({ amount }) => ({ status: 'pending', amount }),
});

const wait = new FunctionTool({
  name: 'wait_forever',
  description: 'Waits forever.',
  execute: () => new Promise(() => {}),
});

export const rootAgent = new LlmAgent({ name: 'assistant', model: 'gemini-2.5-flash', tools: [approve, wait] });
