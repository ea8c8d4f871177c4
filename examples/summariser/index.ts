// Summarises files: those that the user sends, and notes that it writes down.
// What it makes of a file is a file again, of which every version stays.
import { Context, FunctionTool, LOAD_ARTIFACTS, LlmAgent } from '@google/adk';
import { z } from 'zod';

/** The text of a part: what was saved as text, or bytes that are text. */
function textOf(part: any): string {
  return part?.text ?? Buffer.from(part?.inlineData?.data ?? '', 'base64').toString('utf8');
}

/** The sentences that have most of the words that come up often. */
function summarise(text: string, count = 2): string {
  const wordsOf = (s: string) => s.toLowerCase().match(/\p{L}{4,}/gu) ?? [];
  const often = new Map<string, number>();
  for (const word of wordsOf(text)) often.set(word, (often.get(word) ?? 0) + 1);
  const weight = (s: string) => wordsOf(s).reduce((sum, word) => sum + often.get(word)!, 0) / (wordsOf(s).length || 1);
  const sentences = text.match(/[^.!?]+[.!?]+/g)?.map((s) => s.trim()) ?? [text.trim()];
  const best = [...sentences].sort((a, b) => weight(b) - weight(a)).slice(0, count);
  return sentences.filter((s) => best.includes(s)).join(' ');
}

const writeNote = new FunctionTool({
  name: 'write_note',
  description: 'Writes a note down.',
  parameters: z.object({ text: z.string().describe('What to write.') }),
  execute: async ({ text }, context?: Context) => {
    const version = await context!.saveArtifact('note.txt', { text });
    return { status: 'success', message: `It is version ${version} of note.txt.` };
  },
});

const listFiles = new FunctionTool({
  name: 'list_files',
  description: 'Lists the files.',
  execute: async (_: unknown, context?: Context) => {
    const names = await context!.listArtifacts();
    return { status: 'success', message: names.join('\n') || 'There are no files.' };
  },
});

const summariseFile = new FunctionTool({
  name: 'summarise_file',
  description: 'Makes a summary of a file.',
  parameters: z.object({ file: z.string().describe('The name of the file.') }),
  execute: async ({ file }, context?: Context) => {
    const part = await context!.loadArtifact(file);
    if (!part) return { status: 'error', error_message: `There is no file ${file}.` };
    const summary = summarise(textOf(part));
    const version = await context!.saveArtifact(`summaries/${file}`, { text: summary });
    return { status: 'success', message: `${summary} (version ${version} of summaries/${file})` };
  },
});

export const rootAgent = new LlmAgent({
  name: 'summariser',
  model: 'gemini-2.5-flash',
  description: 'Summarises files.',
  instruction: 'Summarise the files of the user. The latest note says: {artifact.note.txt?}',
  tools: [writeNote, listFiles, summariseFile, LOAD_ARTIFACTS],
});
