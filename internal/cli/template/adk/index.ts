import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const rollDice = new FunctionTool({
  name: 'roll_dice',
  description: 'Rolls dice and reports what they show.',
  parameters: z.object({
    count: z.number().int().min(1).max(20).default(1).describe('How many dice to roll.'),
    sides: z.number().int().min(2).default(6).describe('How many sides each of the dice has.'),
  }),
  execute: ({ count, sides }) => {
    const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides));
    const total = rolls.reduce((sum, roll) => sum + roll, 0);
    return { status: 'success', report: `The dice show ${rolls.join(', ')}: ${total} in total.` };
  },
});

export const rootAgent = new LlmAgent({
  name: '{{agent}}',
  model: '{{model}}',
  description: 'Rolls dice.',
  instruction: 'You roll dice for the user, with the roll_dice tool. Never make up what they show.',
  tools: [rollDice],
});
