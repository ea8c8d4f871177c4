// The same kind of agent in the style of adk-typescript: a tool is a plain
// function, whose schema comes from its types and its comment, and callbacks
// take positional arguments.
import { LlmAgent, CallbackContext } from 'adk-typescript/agents';
import { ToolContext } from 'adk-typescript/tools';

/**
 * Converts an amount of money from one currency to another.
 * @param amount How much.
 * @param from The currency to convert from.
 * @param to The currency to convert to.
 */
function convertCurrency(amount: number, from: 'EUR' | 'USD' | 'JPY', to: 'EUR' | 'USD' | 'JPY', context?: ToolContext) {
  const rates = { EUR: 1, USD: 1.1, JPY: 160 };
  const result = (amount / rates[from]) * rates[to];
  context!.state['conversions'] = (context!.state['conversions'] ?? 0) + 1;
  return { status: 'success', report: `${amount} ${from} are ${result.toFixed(2)} ${to}.` };
}

export const rootAgent = new LlmAgent('money', {
  model: 'gemini-2.0-flash',
  description: 'Converts money.',
  instruction: 'Convert amounts of money with your tool.',
  tools: [convertCurrency],
  beforeAgentCallback: (callbackContext: CallbackContext) => {
    callbackContext.state['greeted'] = true;
    return undefined;
  },
});
