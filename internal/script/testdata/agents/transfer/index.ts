// A coordinator and its specialists.
import { FunctionTool, LlmAgent } from '@google/adk';

const escalate = new FunctionTool({
  name: 'escalate',
  description: 'Hands over to the support.',
  execute: (_args, context) => {
    context!.actions.transferToAgent = 'support';
    return { handed: 'over' };
  },
});

const billing = new LlmAgent({ name: 'billing', description: 'Handles billing.', instruction: 'Bill.' });
const support = new LlmAgent({
  name: 'support',
  model: 'gemini-2.5-pro',
  description: 'Handles technical support.',
  disallowTransferToParent: true,
  disallowTransferToPeers: true,
});

// The model of the coordinator is that of the billing agent, too.
export const rootAgent = new LlmAgent({
  name: 'coordinator',
  model: 'gemini-2.5-flash',
  instruction: 'Route the user.',
  subAgents: [billing, support],
  tools: [escalate],
});
