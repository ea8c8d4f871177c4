import { LlmAgent } from '@google/adk';

export const capitalAgent = new LlmAgent({ name: 'only', model: 'gemini-2.5-flash' });
export const answer = 42;
