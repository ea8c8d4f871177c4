import { Agent } from 'adk-typescript';

export const agent = new Agent({ name: 'assistant', model: 'gemini-2.5-flash', instruction: 'Assist.', description: 'Assists.' });
