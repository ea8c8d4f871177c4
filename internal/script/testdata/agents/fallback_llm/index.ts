// A model that tries one after the other, and a tool that asks one itself.
import { BaseLlm, FunctionTool, Gemini, LLMRegistry, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk';
import { createUserContent } from '@google/genai';
import { z } from 'zod';

class FallbackLlm extends BaseLlm {
  constructor(private readonly models: string[]) {
    super({ model: 'fallback' });
  }
  async *generateContentAsync(request: LlmRequest, stream = false, abortSignal?: AbortSignal): AsyncGenerator<LlmResponse, void> {
    let last: unknown;
    for (const name of this.models) {
      try {
        for await (const response of LLMRegistry.newLlm(name).generateContentAsync(request, stream, abortSignal)) {
          if (response.errorCode) throw new Error(response.errorCode);
          yield response;
        }
        return;
      } catch (error) {
        console.warn(`${name}: ${(error as Error).message}`);
        last = error;
      }
    }
    throw last;
  }
  async connect(): Promise<never> {
    throw new Error('not live');
  }
}

const translate = new FunctionTool({
  name: 'translate',
  description: 'Translates a text.',
  parameters: z.object({ text: z.string() }),
  execute: async ({ text }) => {
    const llm = new Gemini({ model: 'gemini-2.5-pro', vertexai: true, project: 'p', location: 'eu' });
    let answer = '';
    for await (const response of llm.generateContentAsync({
      contents: [createUserContent(`Translate ${text}`)],
      config: { systemInstruction: 'Into French.', temperature: 0 },
      toolsDict: {},
      liveConnectConfig: {},
    })) {
      answer += response.content?.parts?.map((p) => p.text).join('') ?? '';
    }
    return answer;
  },
});

export const rootAgent = new LlmAgent({
  name: 'robust',
  model: new FallbackLlm(['gemini-2.5-flash', 'gemini-2.0-flash', 'other-model']),
  instruction: 'Answer.',
  tools: [translate],
});
