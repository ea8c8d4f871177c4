// > danger one
// > adk_request_confirmation returned {"confirmed":true}
// stream
import { RemoteA2AAgent } from '@google/adk';

export const rootAgent = new RemoteA2AAgent({ name: 'remote', agentCard: process.env.REMOTE + '/a2a/weather/' });
