import { FunctionTool } from '@google/adk';
import { z } from 'zod';
import stations from '../../data/stations.json';

export const readStation = new FunctionTool({
  name: 'read_station',
  description: 'Reads a station.',
  parameters: z.object({ name: z.string() }),
  execute: ({ name }: { name: string }) => ({ known: stations.some((s) => s.name === name) }),
});
