import { LlmAgent } from '@google/adk';

const helper = new LlmAgent({ name: 'helper', model: 'gemini-2.5-flash' });
export default new LlmAgent({ name: 'standard', model: 'gemini-2.5-flash', instruction: 'Answer.', subAgents: [helper] });
