// adk-typescript: tools that are plain functions.
import { LlmAgent } from 'adk-typescript/agents';
import { FunctionTool, ToolContext } from 'adk-typescript/tools';

/** Gets the weather of a city. */
function getWeather(params: Record<string, any>, context: ToolContext) {
  context.state.set('last', params.city);
  return { city: params.city, sky: 'blue' };
}

async function addNumbers(a: number, b: number) {
  return a + b;
}

const greet = ({ name, greeting = 'Hello' }: { name: string; greeting?: string }, ctx: ToolContext) => `${greeting} ${name} from ${ctx.agentName}`;

export const rootAgent = new LlmAgent({
  name: 'functions',
  model: 'gemini-2.5-flash',
  instruction: 'Use the functions.',
  tools: [getWeather, new FunctionTool(addNumbers), greet],
});
