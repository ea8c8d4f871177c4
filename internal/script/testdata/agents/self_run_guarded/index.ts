// A file that can be run by itself: what is below is not for the server.
import { InMemoryRunner, LlmAgent, isFinalResponse, stringifyContent } from '@google/adk';
import { createUserContent } from '@google/genai';

const rootAgent = new LlmAgent({ name: 'guarded', model: 'gemini-2.5-flash', instruction: 'Answer.' });

async function main() {
  console.log('main was run');
  const runner = new InMemoryRunner({ agent: rootAgent });
  const session = await runner.sessionService.createSession({ appName: runner.appName, userId: 'u' });
  for await (const event of runner.runAsync({ userId: 'u', sessionId: session.id, newMessage: createUserContent('hi') })) {
    if (isFinalResponse(event)) console.log(stringifyContent(event));
  }
}

if (require.main === module) {
  main().catch(console.error);
}

export { rootAgent };
