// Callbacks around the model and the tools: what is said is checked, what is
// called is corrected, and what comes back is completed.
import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const getPrice = new FunctionTool({
  name: 'get_price',
  description: 'Tells the price of a product.',
  parameters: z.object({ product: z.string().describe('The product, for example tea.') }),
  execute: ({ product }) => ({ status: 'success', report: `A pack of ${product} is 4.20 euros` }),
});

export const rootAgent = new LlmAgent({
  name: 'guarded',
  model: 'gemini-2.5-flash',
  description: 'Tells prices, carefully.',
  instruction: 'Tell the prices of products.',
  tools: [getPrice],

  // Some things never reach the model.
  beforeModelCallback: ({ request, context }) => {
    const last = request.contents.at(-1)?.parts?.map((p) => p.text ?? '').join(' ') ?? '';
    if (!/password/i.test(last)) return undefined;
    context.state.set('blocked', (context.state.get('blocked', 0) as number) + 1);
    return { content: { role: 'model', parts: [{ text: 'I do not talk about passwords.' }] } };
  },

  // Arguments are put in order before the tool sees them.
  beforeToolCallback: ({ args }) => {
    args.product = String(args.product).toLowerCase();
    return undefined;
  },

  // Results get what every answer should have.
  afterToolCallback: ({ response }) => ({ ...response, report: `${response.report}, tax included.` }),
});
