// A custom Runner: what Go does with files and memory uses its services.
import { InMemoryArtifactService, InMemoryMemoryService, InMemorySessionService, LOAD_ARTIFACTS, LlmAgent, PRELOAD_MEMORY, Runner } from '@google/adk';

export const rootAgent = new LlmAgent({ name: 'reader', model: 'gemini-2.5-flash', instruction: 'File: {artifact.a.txt?}', tools: [LOAD_ARTIFACTS, PRELOAD_MEMORY] });

const sessionService = new InMemorySessionService();
const artifactService = new InMemoryArtifactService();
const memoryService = new InMemoryMemoryService();
const where = { appName: 'app', userId: 'ann', sessionId: 's' };
const session = await sessionService.createSession(where);
await artifactService.saveArtifact({ ...where, filename: 'a.txt', artifact: { text: 'mine' } });
await memoryService.addSessionToMemory({ ...session, events: [{ author: 'user', content: { parts: [{ text: 'I like tea' }] } }] } as any);

const runner = new Runner({ appName: 'app', agent: rootAgent, sessionService, artifactService, memoryService });
const parts = [{ text: 'tea?' }, { inlineData: { mimeType: 'text/plain', data: 'eA==', displayName: 'up.txt' } }];
for await (const event of runner.runAsync({ ...where, newMessage: { role: 'user', parts }, runConfig: { saveInputBlobsAsArtifacts: true } as any })) {
  const said = event.content!.parts![0].text!;
  console.log(`private: ${said.includes('File: mine')} ${said.includes('"a.txt", "up.txt"')} ${said.includes('user: I like tea')}`);
}
const stored = (await sessionService.getSession(where))!.events[0];
console.log(`stored: ${stored.content!.parts![1].text} ${JSON.stringify(stored.actions.artifactDelta)}`);
