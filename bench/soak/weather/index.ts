// What most turns are: a question, a call of a tool, an answer.
import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'Reports the current weather in a city.',
  parameters: z.object({ city: z.string().describe('The city, for example New York.') }),
  execute: ({ city }) => ({ status: 'success', report: `The weather in ${city} is sunny with a temperature of 25 degrees Celsius.` }),
});

export const rootAgent = new LlmAgent({
  name: 'weather_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Answer questions about the weather with the get_weather tool.',
  tools: [getWeather],
});
