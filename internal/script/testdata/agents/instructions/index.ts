// Instructions: made by a function, for all agents, and without the history.
import { LlmAgent, type ReadonlyContext } from '@google/adk';

const forgetful = new LlmAgent({
  name: 'forgetful',
  description: 'Answers without the history.',
  model: 'gemini-2.5-pro',
  includeContents: 'none',
  instruction: (context: ReadonlyContext) => `You are ${context.agentName}; {this} stays.`,
});

export const rootAgent = new LlmAgent({
  name: 'root',
  model: 'gemini-2.5-flash',
  globalInstruction: 'Be polite to {user:name?}.',
  instruction: 'Talk.',
  subAgents: [forgetful],
});
