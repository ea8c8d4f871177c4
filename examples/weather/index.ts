import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'Reports the current weather in a city.',
  parameters: z.object({
    city: z.string().describe('The city, for example New York.'),
  }),
  execute: ({ city }, context) => {
    context.state.set('last_city', city);
    return {
      status: 'success',
      report: `The weather in ${city} is sunny with a temperature of 25 degrees Celsius (77 degrees Fahrenheit).`,
    };
  },
});

const timeZones: Record<string, string> = {
  'new york': 'America/New_York',
  london: 'Europe/London',
  paris: 'Europe/Paris',
  tokyo: 'Asia/Tokyo',
};

const getCurrentTime = new FunctionTool({
  name: 'get_current_time',
  description: 'Tells the current time in a city.',
  parameters: z.object({
    city: z.string().describe('The city, for example London.'),
  }),
  execute: ({ city }) => {
    const timeZone = timeZones[city.toLowerCase()];
    if (!timeZone) {
      return { status: 'error', error_message: `I do not know the time zone of ${city}.` };
    }
    const time = new Date().toLocaleString('en-US', { timeZone, dateStyle: 'full', timeStyle: 'short' });
    return { status: 'success', report: `In ${city} it is ${time}.` };
  },
});

export const rootAgent = new LlmAgent({
  name: 'weather_agent',
  model: 'gemini-2.5-flash',
  description: 'Answers questions about the weather and the time in a city.',
  instruction: 'Answer questions about the weather and the time with the tools that you have.',
  tools: [getWeather, getCurrentTime],
});
