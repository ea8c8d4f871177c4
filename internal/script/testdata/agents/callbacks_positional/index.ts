// All six callbacks with one argument after the other.
import { CallbackContext, LlmAgent } from 'adk-typescript/agents';
import { LlmRequest, LlmResponse, Content } from 'adk-typescript/models';
import { BaseTool, FunctionTool, ToolContext } from 'adk-typescript/tools';

async function getCapital(params: { country: string }, context?: ToolContext) {
  context!.state['asked'] = params.country;
  return { capital: params.country === 'France' ? 'Paris' : 'unknown', lang: (params as any).lang };
}

export const rootAgent = new LlmAgent({
  name: 'capitals',
  model: 'gemini-2.5-flash',
  instruction: 'Name capitals.',
  tools: [
    new FunctionTool({
      name: 'get_capital',
      description: 'Gets the capital of a country.',
      fn: getCapital,
      functionDeclaration: {
        name: 'get_capital',
        description: 'Gets the capital of a country.',
        parameters: { type: 'object', properties: { country: { type: 'string', description: 'The country' } }, required: ['country'] },
      },
    }),
  ],
  beforeAgentCallback: (callbackContext: CallbackContext): Content | undefined => {
    callbackContext.state['began'] = callbackContext.agentName;
    return undefined;
  },
  afterAgentCallback: (callbackContext: CallbackContext) =>
    callbackContext.state.get('bye') ? { role: 'model', parts: [{ text: 'Goodbye.' }] } : undefined,
  beforeModelCallback: (callbackContext: CallbackContext, llmRequest: LlmRequest): LlmResponse | undefined => {
    const last = llmRequest.contents[llmRequest.contents.length - 1];
    if (last.parts[0].text === 'stop') {
      callbackContext.state['bye'] = true;
      return new LlmResponse({ content: { role: 'model', parts: [{ text: 'STOP.' }] } });
    }
    llmRequest.appendInstructions(['Use few words.', 'Be kind.']);
    return undefined;
  },
  afterModelCallback: [
    (_: CallbackContext, llmResponse: LlmResponse) => {
      const part = llmResponse.content?.parts?.[0];
      return part?.text ? new LlmResponse({ ...llmResponse, content: { role: 'model', parts: [{ text: part.text.toUpperCase() }] } }) : undefined;
    },
  ],
  beforeToolCallback: (tool: BaseTool, args: Record<string, any>, toolContext: ToolContext) => {
    if (args.country === 'America') args.country = 'France';
    args.lang = `${tool.name}/${toolContext.agentName}`;
    return undefined;
  },
  afterToolCallback: (tool: BaseTool, args: Record<string, any>, toolContext: ToolContext, toolResponse: any) =>
    toolResponse.capital === 'unknown' ? { capital: null, of: args.country, by: tool.name, asked: toolContext.state.get('asked') } : undefined,
});
