// The same with the other package: functions as tools, and templates beside functions.
import { Agent, loadArtifactsTool, loadMemoryTool, ToolContext } from 'adk-typescript';

/** Keeps a note. */
async function keepNote(note: string, toolContext: ToolContext) {
  const version = await toolContext.saveArtifact('note.txt', { text: note });
  return { version, names: await toolContext.listArtifacts(), back: (await toolContext.loadArtifact('note.txt'))?.text };
}

/** Looks for something. */
async function find(query: string, toolContext: ToolContext) {
  return toolContext.searchMemory(query);
}

export const rootAgent = new Agent({
  name: 'classic',
  model: 'gemini-2.5-flash',
  globalInstruction: () => 'Global.',
  instruction: 'Note: {artifact.note.txt?}.',
  tools: [keepNote, find, loadArtifactsTool, loadMemoryTool],
});
