// Tools whose answer comes later, from outside.
import { FunctionTool, LlmAgent, LongRunningFunctionTool, getUserChoiceTool } from '@google/adk';
import { z } from 'zod';

const askForApproval = new LongRunningFunctionTool({
  name: 'ask_for_approval',
  description: 'Asks a manager for approval.',
  parameters: z.object({ amount: z.number() }),
  execute: async ({ amount }, context) => {
    context!.state.set('temp:asked', amount);
    return { status: 'pending', ticketId: 'approval-1', amount };
  },
});

const order = new FunctionTool({
  name: 'order',
  description: 'Places an order.',
  parameters: z.object({ item: z.string() }),
  isLongRunning: true,
  execute: () => undefined,
});

export const rootAgent = new LlmAgent({
  name: 'reimbursement',
  model: 'gemini-2.5-flash',
  instruction: 'Reimburse expenses.',
  tools: [askForApproval, order, getUserChoiceTool],
});
