// > hello
// stream
import { RemoteA2AAgent, SequentialAgent } from '@google/adk';

const remote = (name: string) => new RemoteA2AAgent({ name, agentCard: process.env.REMOTE + '/a2a/weather/' });
export const rootAgent = new SequentialAgent({ name: 'root', subAgents: [remote('first'), remote('second')] });
