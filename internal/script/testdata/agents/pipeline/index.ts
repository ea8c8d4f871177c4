// Agents in a row, which hand over through the state.
import { LlmAgent, SequentialAgent } from '@google/adk';

const codeWriter = new LlmAgent({
  name: 'CodeWriter',
  model: 'gemini-2.5-flash',
  instruction: 'Write code. Answer like {"code": "..."}. The user is {user:name?}.',
  outputKey: 'generated_code',
});
const codeReviewer = new LlmAgent({
  name: 'CodeReviewer',
  model: 'gemini-2.5-flash',
  instruction: `Review this code:
{generated_code}`,
  outputKey: 'review',
});
const codeRefactorer = new LlmAgent({
  name: 'CodeRefactorer',
  model: 'gemini-2.5-flash',
  instruction: 'Improve {generated_code} as {review} says, and keep to {style_guide}.',
});

export const rootAgent = new SequentialAgent({
  name: 'CodePipeline',
  description: 'Writes, reviews and refactors code.',
  subAgents: [codeWriter, codeReviewer, codeRefactorer],
});
