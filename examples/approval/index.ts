// A shop that asks before it acts: small refunds are paid at once, large ones
// have to be approved, an account is never closed without a yes, and a manager
// decides how much of a discount is granted.
import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const refund = new FunctionTool({
  name: 'refund_order',
  description: 'Refunds an amount of an order.',
  parameters: z.object({ amount: z.number().describe('How much, in euros.') }),
  requireConfirmation: ({ amount }) => amount > 50,
  execute: ({ amount }) => ({ status: 'success', report: `${amount} euros are on their way back.` }),
});

const close = new FunctionTool({
  name: 'close_account',
  description: 'Closes the account of the customer.',
  requireConfirmation: true,
  execute: () => ({ status: 'success', report: 'The account is closed.' }),
});

const discount = new FunctionTool({
  name: 'grant_discount',
  description: 'Grants a discount in percent.',
  parameters: z.object({ percent: z.number().describe('How many percent.') }),
  execute: ({ percent }, context) => {
    const decision = context!.toolConfirmation;
    if (!decision) {
      context!.requestConfirmation({ hint: `How much of a discount of ${percent} percent is granted?`, payload: { percent } });
      return { status: 'pending', report: 'A manager has been asked.' };
    }
    const { percent: granted } = decision.payload as { percent: number };
    return { status: 'success', report: `A discount of ${granted} percent is granted.` };
  },
});

export const rootAgent = new LlmAgent({
  name: 'shop',
  model: 'gemini-2.5-flash',
  description: 'Helps customers, and asks before it acts.',
  instruction: 'Help customers with refunds, discounts and their account. Do not ask for approval yourself: the tools do.',
  tools: [refund, close, discount],
});
