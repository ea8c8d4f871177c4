// A tool that listens for the end of the run.
import { FunctionTool, LlmAgent } from '@google/adk';

const wait = new FunctionTool({
  name: 'wait',
  description: 'Waits forever.',
  execute: (_args, context) =>
    new Promise((_, reject) => {
      console.log('waiting');
      context!.abortSignal!.addEventListener('abort', () => {
        console.log(`given up: ${context!.abortSignal!.aborted} ${(context!.abortSignal!.reason as Error).name}`);
        reject(new Error('aborted'));
      });
    }),
});

export const rootAgent = new LlmAgent({ name: 'patient', model: 'gemini-2.5-flash', tools: [wait] });
