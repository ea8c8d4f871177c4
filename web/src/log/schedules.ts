// Schedules in words, and what a form makes of them.
import type { Schemas } from '@parley-run/client';

import { moment } from './dates';
import { readState, stateText } from './state';

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

/** A time in a zone; in that of the browser, if it is not given or the browser does not know it. */
export function clock(time: string, timeZone?: string): string {
  const format = (zone?: string) => moment(Date.parse(time) / 1000, zone);
  try {
    return format(timeZone || undefined);
  } catch {
    return format();
  }
}

/** The text of the message. */
export const textOf = (s: Schedule) => (s.newMessage?.parts ?? []).map((part) => part.text ?? '').join(' ').trim();

export interface Draft {
  id: string;
  kind: 'cron' | 'interval' | 'at';
  cron: string;
  timeZone: string;
  minutes: string;
  at: string; // of an input for local times, as are the others
  startAt: string;
  endAt: string;
  message: string;
  state: string; // a JSON object
  session: string;
  concurrency: '' | 'enqueue' | 'reject' | 'interrupt' | 'rollback';
  missed: 'skip' | 'once' | 'all';
  missedMinutes: string; // empty for the default
}

/** The body of the request that creates a schedule. */
export function requestOf(d: Draft): Record<string, unknown> {
  const body: Record<string, unknown> = { missed: d.missed };
  if (d.message.trim()) body['newMessage'] = { role: 'user', parts: [{ text: d.message }] };
  const state = readState(d.state);
  if (state) body['stateDelta'] = state;
  if (d.missedMinutes.trim()) body['missedAfterSeconds'] = Math.round(Number(d.missedMinutes) * 60);
  if (d.id.trim()) body['id'] = d.id.trim();
  if (d.session.trim()) body['sessionId'] = d.session.trim();
  if (d.session.trim() && d.concurrency) body['concurrency'] = d.concurrency;
  if (d.kind === 'cron') Object.assign(body, { cron: d.cron.trim(), ...(d.timeZone.trim() && { timeZone: d.timeZone.trim() }) });
  if (d.kind === 'interval') body['intervalSeconds'] = Math.round(Number(d.minutes) * 60);
  if (d.kind === 'at' && d.at) body['at'] = instant(d.at);
  if (d.kind !== 'at' && d.startAt) body['startAt'] = instant(d.startAt);
  if (d.kind !== 'at' && d.endAt) body['endAt'] = instant(d.endAt);
  return body;
}

const instant = (local: string) => new Date(local).toISOString().replace(/\.\d+Z$/, 'Z');

/** The body of the request that changes a schedule to a draft. What the draft does not have is reset. */
export function patchOf(d: Draft, of: Schedule): Record<string, unknown> {
  const { id: _, ...body } = requestOf(d);
  const reset: Record<string, unknown> = { newMessage: null, stateDelta: null };
  // The message may have parts that a form does not show, and the state longer numbers than those of the browser.
  if (d.message === textOf(of)) delete body['newMessage'], delete reset['newMessage'];
  if (d.state === stateText(of.stateDelta)) delete body['stateDelta'], delete reset['stateDelta'];
  for (const name of ['at', 'startAt', 'endAt'] as const) {
    if (body[name] && of[name] && d[name] === local(of[name])) body[name] = of[name]; // inputs have no seconds
  }
  return { ...reset, cron: null, timeZone: null, intervalSeconds: null, at: null, startAt: null, endAt: null, sessionId: null, concurrency: null, missedAfterSeconds: null, ...body };
}

/** What a form shows of a schedule. */
export function draftOf(s: Schedule, empty: Draft): Draft {
  return {
    ...empty,
    id: s.id, message: textOf(s), session: s.sessionId ?? '', missed: s.missed, concurrency: s.concurrency ?? '',
    kind: s.cron ? 'cron' : s.intervalSeconds ? 'interval' : 'at',
    cron: s.cron ?? empty.cron, timeZone: s.cron ? (s.timeZone ?? '') : empty.timeZone,
    minutes: s.intervalSeconds ? String(s.intervalSeconds / 60) : empty.minutes,
    at: local(s.at), startAt: local(s.startAt), endAt: local(s.endAt), state: stateText(s.stateDelta), missedMinutes: String(s.missedAfterSeconds / 60),
  };
}

/** A time as an input for local times has it. */
function local(time: string | undefined): string {
  if (!time) return '';
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Whether a draft says when and what. The server checks the rest. */
export function complete(d: Draft, of?: Schedule): boolean {
  const when = { cron: d.cron.trim() !== '', interval: Number(d.minutes) > 0, at: !Number.isNaN(Date.parse(d.at)) };
  const state = readState(d.state);
  if (state === undefined || !(d.missedMinutes.trim() === '' || Number(d.missedMinutes) > 0)) return false;
  return (d.message.trim() !== '' || state !== null || (of?.newMessage !== undefined && textOf(of) === '')) && when[d.kind];
}
