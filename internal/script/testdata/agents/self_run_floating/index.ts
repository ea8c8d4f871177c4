// A file that does not await its main().
import { FunctionTool, InMemoryRunner, LlmAgent, isFinalResponse, stringifyContent } from '@google/adk';
import { createUserContent } from '@google/genai';

const ping = new FunctionTool({ name: 'ping', description: 'Pings.', execute: () => 'pong' });
const demo = new LlmAgent({ name: 'demo', model: 'demo-model', tools: [ping] });

async function main() {
  const runner = new InMemoryRunner({ agent: demo, appName: 'demo' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'demo', userId: 'me' });
  for await (const event of runner.runAsync({ userId: 'me', sessionId, newMessage: createUserContent('hi') })) {
    if (isFinalResponse(event)) console.log(`demo said: ${stringifyContent(event)}`);
  }
  process.exit(0);
}

main();

export const rootAgent = new LlmAgent({ name: 'served', model: 'gemini-2.5-flash' });
