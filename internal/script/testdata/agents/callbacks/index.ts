// All six callbacks, each with one object.
import { FunctionTool, LlmAgent, type Context, type LlmRequest, type LlmResponse } from '@google/adk';
import { Type, type Content } from '@google/genai';
import { z } from 'zod';

const lookUp = new FunctionTool({
  name: 'look_up',
  description: 'Looks something up.',
  parameters: z.object({ word: z.string(), lang: z.string().optional() }),
  execute: ({ word, lang }) => ({ found: `${word} (${lang})` }),
});

const text = (message: string): Content => ({ role: 'model', parts: [{ text: message }] });

function skipIfAsked(context: Context): Content | undefined {
  context.state.set('turns', ((context.state.get('turns') as number) ?? 0) + 1);
  const said = context.userContent?.parts?.[0]?.text ?? '';
  return said === 'skip' ? text(`${context.agentName} has nothing to do.`) : undefined;
}

async function guard({ context, request }: { context: Context; request: LlmRequest }): Promise<LlmResponse | undefined> {
  const last = request.contents.at(-1)?.parts?.[0]?.text ?? '';
  if (last.includes('BLOCK')) {
    context.state.set('blocked', true);
    return { content: text('I cannot answer that.') };
  }
  return undefined;
}

const brief = ({ context, request }: { context: Context; request: LlmRequest }) => {
  request.config = { ...request.config, temperature: 0.1, systemInstruction: `${request.config?.systemInstruction} Be brief, ${context.userId}.` };
  if (request.contents.at(-1)?.parts?.[0]?.text === 'STRIP') {
    const all = `${request.model} with ${Object.keys(request.toolsDict)}`;
    request.config.tools = [{ functionDeclarations: [{ name: 'only', description: all, parameters: { type: Type.OBJECT, properties: { n: { type: Type.NUMBER } } } }] }];
  }
  request.contents.unshift({ role: 'user', parts: [{ text: 'Before all:' }] });
  return undefined;
};

export const rootAgent = new LlmAgent({
  name: 'dictionary',
  model: 'gemini-2.5-flash',
  instruction: 'Explain words.',
  tools: [lookUp],
  beforeAgentCallback: skipIfAsked,
  afterAgentCallback: [
    () => undefined,
    (context) => (context.state.get('blocked') ? text('A note for the curious.') : undefined),
    () => {
      throw new Error('the one before has answered');
    },
  ].slice(0, 2),
  beforeModelCallback: [guard, brief],
  afterModelCallback: async ({ response }) => {
    const part = response.content?.parts?.[0];
    if (response.partial || !part?.text) return undefined;
    if (part.text.includes('secret')) return { ...response, content: text(part.text.replace('secret', '******')) };
    if (!part.text.endsWith('.')) part.text += '!'; // a change in place counts as well
    return undefined;
  },
  beforeToolCallback: ({ tool, args, context }) => {
    if (args['word'] === 'taboo') return { refused: `${tool.name} by ${context.functionCallId ? 'a call' : 'no call'}` };
    args['lang'] = 'en';
    return undefined;
  },
  afterToolCallback: [
    ({ response }) => {
      if (typeof response['found'] === 'string') response['checked'] = true;
      return undefined;
    },
    ({ args, response }) => (args['word'] === 'swap' ? { swapped: response['found'] } : undefined),
  ],
});
