// The quickstart: two tools with zod parameters.
import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'Retrieves the current weather report for a city.',
  parameters: z.object({
    city: z.string().describe('The name of the city.'),
    unit: z.enum(['celsius', 'fahrenheit']).default('celsius'),
    days: z.coerce.number().int().min(1).max(7).optional(),
  }),
  execute: ({ city, unit, days }) => {
    if (city.toLowerCase() !== 'new york') {
      return { status: 'error', error_message: `Weather information for '${city}' is not available.` };
    }
    return { status: 'success', report: `Sunny, 25 degrees ${unit}`, days: days ?? 1 };
  },
});

const getCurrentTime = new FunctionTool({
  name: 'get_current_time',
  description: 'Returns the time in New York at a given moment.',
  parameters: z.object({ moment: z.string() }),
  execute: async ({ moment }) => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return new Date(moment).toLocaleString('en-US', { timeZone: 'America/New_York' });
  },
});

export const rootAgent = new LlmAgent({
  name: 'weather_time_agent',
  model: 'gemini-2.5-flash',
  description: 'Agent to answer questions about the time and weather in a city.',
  instruction: 'You are a helpful agent who can answer user questions about the time and weather in a city.',
  tools: [getWeather, getCurrentTime],
});
