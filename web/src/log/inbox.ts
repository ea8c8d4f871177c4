// What waits for people, as the server lists it.
import { serverNow } from '../api/clock';
import type { Event, FunctionCall } from '../api/types';
import { kindOf, type Pending } from './pending';

export interface Entry {
  id: string;
  appName: string;
  userId: string;
  sessionId: string;
  sessionTitle?: string;
  runId: string;
  agent: string;
  kind: 'confirmation' | 'input' | 'login' | 'result';
  tool: string;
  message?: string;
  args?: unknown;
  since: string;
  until?: string;
  answer: string;
  mayAnswer: boolean;
  assignee?: string;
  escalatedAt?: string;
  defaultAt?: string;
  call: FunctionCall & { id: string; name: string };
}

export interface InboxLink {
  url: string;
  expiresAt: string;
}

/** The entry, as the forms take it. */
export const pendingIn = (entry: Entry): Pending => ({
  kind: kindOf(entry.call.name),
  call: entry.call,
  event: { id: entry.id, author: entry.agent, invocationId: entry.runId, timestamp: Date.parse(entry.since) / 1000 } as Event,
});

/** Who may answer, in words. */
export function whoMay(answer: string): string {
  if (answer.startsWith('role:')) return `Only people with the role ${answer.slice('role:'.length)} may answer.`;
  return answer === 'user' ? 'Only the user may answer.' : '';
}

/** When something ends, in words. */
export function left(until: string, now = serverNow() * 1000): string {
  const minutes = Math.round((Date.parse(until) - now) / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 120) return `in ${minutes} minute${minutes === 1 ? '' : 's'}`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `in ${hours} hours` : `in ${Math.round(hours / 24)} days`;
}
