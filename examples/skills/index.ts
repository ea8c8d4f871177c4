// An agent with skills, without any code for them: it is offered what is in the
// directory skills.
import { LlmAgent } from '@google/adk';

export const rootAgent = new LlmAgent({
  name: 'bookkeeper',
  model: 'gemini-2.5-flash',
  description: 'Does the accounts.',
  instruction: 'Help with invoices and refunds.',
});
