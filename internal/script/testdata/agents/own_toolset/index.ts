// A toolset whose tools depend on who asks, and on what has happened.
import {
  AgentTool, BaseTool, BaseToolset, FunctionTool, GOOGLE_SEARCH, LlmAgent, LOAD_ARTIFACTS, type Context, type LlmRequest, type ReadonlyContext, type ToolProcessLlmRequest,
} from '@google/adk';
import { z } from 'zod';

const helper = new LlmAgent({ name: 'helper', description: 'Helps.', model: 'helper', instruction: 'Help.' });

class Hint extends BaseTool {
  constructor() {
    super({ name: 'hint', description: '' });
  }
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    llmRequest.config!.systemInstruction += ' You are in.';
  }
  override async runAsync(): Promise<unknown> {
    throw new Error('not to be called');
  }
}

let asked = 0;

class Gate extends BaseToolset {
  async getTools(context?: ReadonlyContext) {
    asked++;
    const name = context?.state.get('name') as string | undefined;
    // They are made again each time, and remember for whom.
    const enter = new FunctionTool({
      name: 'enter',
      description: 'Enters.',
      parameters: z.object({ name: z.string() }),
      execute: ({ name }, ctx?: Context) => {
        ctx!.state.set('name', name);
        return `welcome, ${name}`;
      },
    });
    if (!name) return [enter, new AgentTool({ agent: helper })];
    const leave = new FunctionTool({
      name: 'leave',
      description: `Leaves, for ${name} of ${context!.userId}.`,
      execute: (_, ctx?: Context) => {
        ctx!.state.set('name', '');
        return `goodbye, ${name}`;
      },
    });
    return [leave, LOAD_ARTIFACTS, GOOGLE_SEARCH, new Hint()];
  }
  override async processLlmRequest(_: Context, llmRequest: LlmRequest): Promise<void> {
    llmRequest.config!.systemInstruction += ' Mind the gate.';
  }
  async close(): Promise<void> {}
}

export const rootAgent = new LlmAgent({
  name: 'porter',
  model: 'gemini-2.5-flash',
  instruction: 'Guard.',
  tools: [new FunctionTool({ name: 'count', description: 'Counts.', execute: () => asked > 0 }), new Gate()],
  beforeToolCallback: ({ tool }) => void console.log(`before ${tool.name}: ${tool instanceof BaseTool}`),
});
