// A file that runs itself when it is loaded, in sessions of its own.
import {
  FunctionTool, InMemoryArtifactService, InMemoryMemoryService, InMemoryRunner, InMemorySessionService, LlmAgent, Runner, StreamingMode, isFinalResponse, stringifyContent,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { runAgent } from 'adk-typescript';
import { z } from 'zod';

const remember = new FunctionTool({
  name: 'remember',
  description: 'Remembers a note.',
  parameters: z.object({ note: z.string() }),
  execute: async ({ note }, context) => {
    context!.state.set('notes', ((context!.state.get('notes') as number) ?? 0) + 1);
    context!.state.set('user:last', note);
    try {
      const version = await context!.saveArtifact('note.txt', { text: note });
      const names = await context!.listArtifacts();
      const loaded = await context!.loadArtifact('note.txt');
      const { memories } = await context!.searchMemory('notes');
      return { version, names, loaded, memories: memories.length };
    } catch (error) {
      return { error: (error as Error).message };
    }
  },
});

export const rootAgent = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', instruction: 'Keep notes.', tools: [remember] });

async function main() {
  const sessionService = new InMemorySessionService();
  const memoryService = new InMemoryMemoryService();
  const runner = new Runner({ appName: 'notes', agent: rootAgent, sessionService, artifactService: new InMemoryArtifactService(), memoryService });
  await sessionService.createSession({ appName: 'notes', userId: 'ann', sessionId: 's1', state: { notes: 4 } });
  const ask = async (text: string, streamingMode = StreamingMode.NONE) => {
    const said: string[] = [];
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: 's1', newMessage: createUserContent(text), runConfig: { streamingMode } })) {
      said.push(`${event.partial ? '~' : ''}${stringifyContent(event) || '-'}${isFinalResponse(event) ? '.' : ''}`);
    }
    return said.join(' ');
  };
  console.log(`first: ${await ask('note this')}`);
  console.log(`second: ${await ask('and stream that', StreamingMode.SSE)}`);
  const session = await sessionService.getSession({ appName: 'notes', userId: 'ann', sessionId: 's1' });
  console.log(`state: ${JSON.stringify(session!.state)}, ${session!.events.length} events of one turn or more: ${new Set(session!.events.map((e) => e.invocationId)).size}`);
  await memoryService.addSessionToMemory(session!);
  console.log(`memory: ${JSON.stringify((await memoryService.searchMemory({ appName: 'notes', userId: 'ann', query: 'stream' })).memories.map((m) => m.author))}`);
  const other = await sessionService.createSession({ appName: 'notes', userId: 'ann' });
  console.log(`other session: ${JSON.stringify(other.state)}`);
  console.log(`alone: ${await runAgent(rootAgent, 'again')}`);
  try {
    for await (const _ of new InMemoryRunner({ agent: rootAgent }).runAsync({ userId: 'ann', sessionId: 's1', newMessage: createUserContent('?') }));
  } catch (error) {
    console.log(`error: ${(error as Error).message}`);
  }
}

await main();
