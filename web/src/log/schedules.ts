// Schedules in words, and what a form makes of them.
import type { Schemas } from '@parley-run/client';

export type Schedule = Schemas['Schedule'];
export type Firing = Schemas['Firing'];

/** The times at which a schedule is due, in words. */
export function times(s: Pick<Schedule, 'cron' | 'timeZone' | 'intervalSeconds' | 'at'>): string {
  if (s.cron) return `${s.cron} ${s.timeZone ?? 'UTC'}`;
  if (s.intervalSeconds) return `every ${duration(s.intervalSeconds)}`;
  return s.at ? `once, ${clock(s.at)}` : '';
}

/** Seconds in the largest unit that has a whole number of them. */
export function duration(seconds: number): string {
  for (const [size, name] of [[86_400, 'day'], [3600, 'hour'], [60, 'minute']] as const) {
    if (seconds % size === 0) return `${seconds / size} ${name}${seconds === size ? '' : 's'}`;
  }
  return `${seconds} second${seconds === 1 ? '' : 's'}`;
}

/** A time in the zone of the browser. */
export const clock = (time: string) => new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/** The text of the message. */
export const textOf = (s: Schedule) => (s.newMessage?.parts ?? []).map((part) => part.text ?? '').join(' ').trim();

export interface Draft {
  id: string;
  kind: 'cron' | 'interval' | 'at';
  cron: string;
  timeZone: string;
  minutes: string;
  at: string; // of an input for local times
  message: string;
  session: string;
  missed: 'skip' | 'once' | 'all';
}

/** The body of the request that creates a schedule. */
export function requestOf(d: Draft): Record<string, unknown> {
  const body: Record<string, unknown> = { newMessage: { role: 'user', parts: [{ text: d.message }] }, missed: d.missed };
  if (d.id.trim()) body['id'] = d.id.trim();
  if (d.session.trim()) body['sessionId'] = d.session.trim();
  if (d.kind === 'cron') Object.assign(body, { cron: d.cron.trim(), ...(d.timeZone.trim() && { timeZone: d.timeZone.trim() }) });
  if (d.kind === 'interval') body['intervalSeconds'] = Math.round(Number(d.minutes) * 60);
  if (d.kind === 'at' && d.at) body['at'] = new Date(d.at).toISOString().replace(/\.\d+Z$/, 'Z');
  return body;
}

/** Whether a draft says when and what. The server checks the rest. */
export function complete(d: Draft): boolean {
  const when = { cron: d.cron.trim() !== '', interval: Number(d.minutes) > 0, at: !Number.isNaN(Date.parse(d.at)) };
  return d.message.trim() !== '' && when[d.kind];
}
