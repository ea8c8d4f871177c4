// Calls that the user has to approve, and a model that asks the user.
import { FunctionTool, LlmAgent, requestInputTool, type Context } from '@google/adk';
import { FunctionTool as Classic } from 'adk-typescript/tools';
import { z } from 'zod';

const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays an amount.',
  parameters: z.object({ amount: z.number().min(1) }),
  requireConfirmation: true,
  execute: ({ amount }) => ({ paid: amount }),
});

const transfer = new FunctionTool({
  name: 'transfer',
  description: 'Transfers an amount.',
  parameters: z.object({ amount: z.coerce.number() }),
  requireConfirmation: async ({ amount }) => amount > 100,
  execute: async ({ amount }, context) => {
    context!.state.set('transferred', amount);
    return { transferred: amount };
  },
});

const leave = new FunctionTool({
  name: 'leave',
  description: 'Asks a manager for days off.',
  parameters: z.object({ days: z.number() }),
  execute: ({ days }, context?: Context) => {
    const { toolConfirmation } = context!;
    if (!toolConfirmation) {
      context!.requestConfirmation({ hint: `Grant ${days} days?`, payload: { days } });
      return { status: 'pending' };
    }
    return { granted: toolConfirmation.payload, hint: toolConfirmation.hint, confirmed: toolConfirmation.confirmed };
  },
});

/** Deletes a file. */
function remove(path: string) {
  return { removed: path };
}

export const rootAgent = new LlmAgent({
  name: 'clerk',
  model: 'gemini-2.5-flash',
  instruction: 'Do what you are told.',
  tools: [pay, transfer, leave, new Classic({ name: 'remove', description: 'Deletes a file.', fn: remove, requireConfirmation: true } as any), requestInputTool],
});
