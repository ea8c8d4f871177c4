// Several files, found in the ways in which people write imports.
import { LlmAgent, Context, type LlmRequest } from '@google/adk';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Settings, Unit, convert } from './lib/units.js';
import type { Reading } from './lib/types';
import { Reading as UntypedReading } from './lib/types.js';
import stations from './data/stations.json' with { type: 'json' };
import { readStation } from '@/tools/station';

const settings = new Settings(Unit.Celsius, { digits: 1 });
const reading: Reading = await Promise.resolve({ station: 'harbour', kelvin: 293.15 } satisfies UntypedReading);
const manual = readFileSync(path.join(__dirname, 'data', 'manual.txt'), 'utf8').trim();
const { default: greeting } = await import('./lib/greeting.ts');

let counter = 0;
const count = ({ request }: { context: Context; request: LlmRequest }) => {
  request.config!.systemInstruction += ` Turn ${++counter}.`;
  return undefined;
};

export const rootAgent = new LlmAgent({
  name: 'stations',
  model: 'gemini-2.5-flash',
  instruction: [greeting, convert.show(reading.kelvin, settings), stations.map((s) => s.name).join('+'), manual, import.meta.url.endsWith('multi_file/index.ts')].join('; '),
  tools: [readStation],
  beforeModelCallback: count,
});
