import { LlmAgent } from 'adk-typescript/agents';
import { FunctionTool } from 'adk-typescript/tools';

const rollDice = new FunctionTool({
  name: 'roll_dice',
  description: 'Rolls dice and reports what they show.',
  fn: async ({ count = 1, sides = 6 }: Record<string, number>) => {
    const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides));
    const total = rolls.reduce((sum, roll) => sum + roll, 0);
    return { status: 'success', report: `The dice show ${rolls.join(', ')}: ${total} in total.` };
  },
  functionDeclaration: {
    name: 'roll_dice',
    description: 'Rolls dice and reports what they show.',
    parameters: {
      type: 'object',
      properties: {
        count: { type: 'integer', minimum: 1, maximum: 20, default: 1, description: 'How many dice to roll.' },
        sides: { type: 'integer', minimum: 2, default: 6, description: 'How many sides each of the dice has.' },
      },
    },
  },
});

export const rootAgent = new LlmAgent({
  name: '{{agent}}',
  model: '{{model}}',
  description: 'Rolls dice.',
  instruction: 'You roll dice for the user, with the roll_dice tool. Never make up what they show.',
  tools: [rollDice],
});
