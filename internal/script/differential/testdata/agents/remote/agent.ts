// > hello
// > weather in Oslo
// stream
import { RemoteA2AAgent } from '@google/adk';

export const rootAgent = new RemoteA2AAgent({ name: 'remote', agentCard: process.env.REMOTE + '/a2a/weather/' });
