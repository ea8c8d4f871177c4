import { FunctionTool, LlmAgent } from '@google/adk';

let calls = 0;

export const rootAgent = new LlmAgent({
  name: 'good',
  model: 'scripted',
  tools: [new FunctionTool({ name: 'fine', description: 'Counts.', execute: () => ({ calls: ++calls }) })],
});
