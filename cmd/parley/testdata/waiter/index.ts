import { FunctionTool, LlmAgent } from '@google/adk';

const waitForever = new FunctionTool({
  name: 'wait_forever',
  description: 'Waits forever.',
  execute: () => new Promise(() => {}),
});

export const rootAgent = new LlmAgent({ name: 'waiter', model: 'gemini-2.5-flash', tools: [waitForever] });
