// Asks its user.
import { LlmAgent, requestInputTool } from '@google/adk';

export const rootAgent = new LlmAgent({ name: 'asker', model: 'gemini-2.5-flash', tools: [requestInputTool] });
