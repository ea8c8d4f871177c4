import { Agent } from '@google/adk';

export const other = new Agent({ name: 'other', model: 'gemini-2.5-flash' });
export const root_agent = Promise.resolve(new Agent({ name: 'snake', model: 'gemini-2.5-flash' }));
