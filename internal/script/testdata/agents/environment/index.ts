// What an agent finds around it.
import 'dotenv/config';
import { FunctionTool, LlmAgent, LogLevel, getLogger, setLogLevel } from '@google/adk';
import { z } from 'zod';

console.log('starting with %s', process.env.GREETING);
setLogLevel(LogLevel.WARN);
getLogger().info('not shown');
getLogger().warn('shown');

const getPlace = new FunctionTool({
  name: 'get_place',
  description: 'Asks a service for a place.',
  parameters: z.object({ id: z.string() }),
  execute: async ({ id }, context) => {
    const url = new URL(`/places/${encodeURIComponent(id)}`, process.env.SERVICE_URL);
    const response = await fetch(url, { headers: { Authorization: `Bearer ${process.env.SERVICE_KEY}` }, signal: context!.abortSignal });
    if (!response.ok) {
      throw new Error(`The service answered ${response.status}: ${await response.text()}`);
    }
    return (await response.json()) as Record<string, unknown>;
  },
});

export const rootAgent = new LlmAgent({
  name: 'places',
  model: process.env.MODEL ?? 'none',
  instruction: `${process.env.GREETING}, ${process.env.FROM_OUTSIDE}, ${process.env.NOWHERE}`,
  tools: [getPlace],
});
