import { LlmAgent } from 'adk-typescript/agents';

export const agent = { rootAgent: new LlmAgent({ name: 'nested', model: 'gemini-2.5-flash' }) };
