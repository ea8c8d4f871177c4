// Tools and toolsets as classes.
import { BaseTool, BaseToolset, FunctionTool, LlmAgent, type Context, type ReadonlyContext, type RunAsyncToolRequest, type ToolProcessLlmRequest } from '@google/adk';
import { Type, type FunctionDeclaration } from '@google/genai';
import { z } from 'zod';

class Dice extends BaseTool {
  constructor(private readonly sides: number) {
    super({ name: 'roll_dice', description: 'Rolls a dice.' });
  }
  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parameters: { type: Type.OBJECT, properties: { times: { type: Type.INTEGER } }, required: ['times'] },
    };
  }
  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const times = args['times'] as number;
    toolContext.state.set('rolls', ((toolContext.state.get('rolls') as number) ?? 0) + times);
    return { rolled: Array(times).fill(this.sides), by: toolContext.agentName };
  }
}

// It has no declaration: all it does is to work on requests.
class Briefing extends BaseTool {
  constructor() {
    super({ name: 'briefing', description: '' });
  }
  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    const { llmRequest, toolContext } = request;
    llmRequest.config!.systemInstruction += ` Rolls so far: ${toolContext.state.get('rolls', 0)}. Tools: ${Object.keys(llmRequest.toolsDict)}.`;
  }
  override async runAsync(): Promise<unknown> {
    throw new Error('not to be called');
  }
}

class MathToolset extends BaseToolset {
  private readonly tools = [
    new FunctionTool({ name: 'add', description: 'Adds.', parameters: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a + b }),
    new FunctionTool({ name: 'divide', description: 'Divides.', parameters: z.object({ a: z.number(), b: z.number() }), execute: ({ a, b }) => a / b }),
  ];
  async getTools(context?: ReadonlyContext) {
    const wanted = context?.state.get('wanted');
    return this.tools.filter((tool) => !wanted && this.isToolSelected(tool, context as Context));
  }
  async close(): Promise<void> {}
}

export const rootAgent = new LlmAgent({
  name: 'gambler',
  model: 'gemini-2.5-flash',
  instruction: 'Gamble.',
  tools: [new Dice(6), new Briefing(), new MathToolset(['add']), new MathToolset((tool) => tool.name === 'divide')],
});
