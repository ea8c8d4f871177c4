import { ExampleTool, LOAD_WEB_PAGE, LlmAgent } from '@google/adk';

const examples = [
  { input: { role: 'user', parts: [{ text: 'Roll a die' }] }, output: [{ role: 'model', parts: [{ functionCall: { name: 'roll', args: { sides: 6 } } }] }, { role: 'model', parts: [{ text: 'A four.' }] }] },
];

export const rootAgent = new LlmAgent({
  name: 'reader',
  model: 'gemini-2.5-flash',
  instruction: 'Read.',
  tools: [new ExampleTool(examples), LOAD_WEB_PAGE],
  beforeToolCallback: ({ args }) => {
    args.url = process.env.SERVICE_URL + args.url;
  },
});
