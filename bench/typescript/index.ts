import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'Reports the current weather in a city.',
  parameters: z.object({ city: z.string().describe('The city, for example New York.') }),
  execute: async ({ city }) => {
    if (city === 'Slowtown') await new Promise((resolve) => setTimeout(resolve, 50));
    return { status: 'success', report: `The weather in ${city} is sunny with a temperature of 25 degrees Celsius.` };
  },
});

export const rootAgent = new LlmAgent({
  name: 'typescript_agent',
  model: 'bench-weather',
  instruction: 'Answer questions about the weather with the get_weather tool.',
  tools: [getWeather],
  includeContents: 'none',
});
