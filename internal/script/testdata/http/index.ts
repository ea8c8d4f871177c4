import { FunctionTool, LlmAgent } from '@google/adk';
// @ts-expect-error the packages are tested, not their types
import { use } from './use.js';

const fine = new FunctionTool({
  name: 'fine',
  description: 'Uses them all.',
  execute: () => use(JSON.parse(process.env.GIVEN!)),
});

export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [fine] });
