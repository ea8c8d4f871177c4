// A model of the author's own, which streams.
import { BaseLlm, FunctionTool, LLMRegistry, LlmAgent, type BaseLlmConnection, type LlmRequest, type LlmResponse } from '@google/adk';
import { z } from 'zod';

class EchoLlm extends BaseLlm {
  static readonly supportedModels = [/echo-.*/];

  constructor({ model }: { model: string }) {
    super({ model });
  }

  async *generateContentAsync(request: LlmRequest, stream?: boolean): AsyncGenerator<LlmResponse, void> {
    const last = request.contents.at(-1)!.parts![0]!;
    const declarations = (request.config?.tools as any[])?.flatMap((t) => t.functionDeclarations) ?? [];
    if (last.text === 'fail') throw new Error('the line is down');
    if (last.text === 'refuse') {
      yield { errorCode: 'SAFETY', errorMessage: 'Not that.' };
      return;
    }
    if (last.text?.startsWith('add ')) {
      const [a, b] = last.text.split(' ').slice(1).map(Number);
      yield { content: { role: 'model', parts: [{ functionCall: { name: 'add', args: { a, b } } }] } };
      return;
    }
    const answer = last.functionResponse
      ? `The sum is ${JSON.stringify(last.functionResponse.response)}`
      : `${this.model}/${request.model} heard ${last.text}, told ${request.config?.systemInstruction}, has ${declarations.map((d) => `${d.name}:${d.parameters.properties.a.type}`)}`;
    if (stream) {
      for (const word of answer.split(/(?<= )/).slice(0, 2)) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield { content: { role: 'model', parts: [{ text: word }] }, partial: true };
      }
    }
    yield {
      content: { role: 'model', parts: [{ text: answer }] },
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
      customMetadata: { stream: Boolean(stream) },
    };
  }

  async connect(): Promise<BaseLlmConnection> {
    throw new Error('not live');
  }
}

LLMRegistry.register(EchoLlm);

export const rootAgent = new LlmAgent({
  name: 'echo',
  model: 'echo-1',
  instruction: 'Echo.',
  tools: [new FunctionTool({ name: 'add', description: 'Adds.', parameters: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b })],
});
