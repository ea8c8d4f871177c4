// One tree with agents of both packages.
import { FunctionTool, Gemini, LlmAgent, SequentialAgent, isBaseAgent, isLlmAgent, isSequentialAgent } from '@google/adk';
import { LlmAgent as OtherAgent } from 'adk-typescript/agents';
import { isFunctionTool } from '@google/adk';
import { z } from 'zod';

const shared = new FunctionTool({ name: 'shared', description: 'Is shared.', parameters: z.object({ n: z.number() }), execute: ({ n }) => n * 2 });

class Shouting extends Gemini {
  override async *generateContentAsync(...args: Parameters<Gemini['generateContentAsync']>) {
    for await (const response of super.generateContentAsync(...args)) {
      for (const part of response.content?.parts ?? []) if (part.text) part.text = part.text.toUpperCase();
      yield response;
    }
  }
}

const one = new LlmAgent({ name: 'one', model: new Shouting({ model: 'gemini-2.5-flash' }), tools: [shared], beforeToolCallback: ({ args }) => void (args['n'] = 1) });
const two = new OtherAgent({ name: 'two', model: 'gemini-2.5-pro', tools: [shared], beforeToolCallback: (_tool: unknown, args: any) => void (args.n = 2) });
const copy = one.clone({ name: 'one_again', instruction: 'I am a copy.' });

export const rootAgent = new SequentialAgent({ name: 'mixed', subAgents: [one, two as any, copy] });
console.log([isBaseAgent(two), isLlmAgent(two), isSequentialAgent(rootAgent), isFunctionTool(shared), copy.rootAgent.name, rootAgent.findAgent('two')?.name].join(' '));
